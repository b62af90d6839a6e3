// yield_many in Go.
package main

import (
	"runtime"
	"sync"

	"ropewalk.bench/src/measure"
)

const (
	tasks  = 200
	yields = 1000
)

func main() {
	measure.Start().MeasureFixed(tasks*yields, func() {
		var all sync.WaitGroup
		all.Add(tasks)
		for range [tasks]struct{}{} {
			go func() {
				yieldsInTurn()
				all.Done()
			}()
		}
		all.Wait()
	}).Print()
}

func yieldsInTurn() {
	for i := 0; i < yields; i++ {
		runtime.Gosched()
	}
}
