// chained_spawn in Go.
package main

import "ropewalk.bench/src/measure"

func main() {
	measure.Start().Measure(func(links uint64) {
		last := make(chan struct{}, 1)
		go link(links, last)
		<-last
	}).Print()
}

func link(left uint64, last chan struct{}) {
	if left == 0 {
		last <- struct{}{}
	} else {
		go link(left-1, last)
	}
}
