// spawn_join_one in Go: a join is a channel of capacity one.
package main

import (
	"runtime"
	"sync/atomic"

	"ropewalk.bench/src/measure"
)

const burst = 64

var ran atomic.Uint64

func main() {
	run := measure.Start()
	if run.Problem == "spawn_poll_one" {
		run.Measure(poll).Print()
	} else {
		run.Measure(join).Print()
	}
}

func join(pairs uint64) {
	for i := uint64(0); i < pairs; i++ {
		result := make(chan struct{}, 1)
		go func() { result <- struct{}{} }()
		<-result
	}
}

func poll(tasks uint64) {
	goal := ran.Load() + tasks
	for spawned := uint64(1); spawned <= tasks; spawned++ {
		go func() { ran.Add(1) }()
		if spawned%burst == 0 {
			runtime.Gosched()
		}
	}
	for ran.Load() < goal {
		runtime.Gosched()
	}
}
