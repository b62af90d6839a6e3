// strand_yield in Go.
package main

import (
	"runtime"
	"sync"

	"ropewalk.bench/src/measure"
)

const strands = 2

func main() {
	measure.Start().Measure(func(yields uint64) {
		var all sync.WaitGroup
		all.Add(strands)
		for range [strands]struct{}{} {
			go func() {
				yieldsInTurn(yields / strands)
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
