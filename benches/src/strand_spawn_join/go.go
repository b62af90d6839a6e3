// strand_spawn_join in Go: a join is a channel of capacity one.
package main

import "ropewalk.bench/src/measure"

func main() {
	measure.Start().Measure(func(pairs uint64) {
		for i := uint64(0); i < pairs; i++ {
			result := make(chan struct{}, 1)
			go func() { result <- struct{}{} }()
			<-result
		}
	}).Print()
}
