// yield_same in Go.
package main

import (
	"runtime"
	"sync"

	"ropewalk.bench/src/measure"
)

const tasks = 2

func main() {
	measure.Start().Measure(func(yields uint64) {
		var all sync.WaitGroup
		all.Add(tasks)
		for range [tasks]struct{}{} {
			go func() {
				yieldsInTurn(yields / tasks)
				all.Done()
			}()
		}
		all.Wait()
	}).Print()
}

func yieldsInTurn(yields uint64) {
	for i := uint64(0); i < yields; i++ {
		runtime.Gosched()
	}
}
