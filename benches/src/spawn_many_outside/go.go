// spawn_many_outside in Go, where no thread is foreign: a goroutine tied to an OS thread of its own spawns.
package main

import (
	"runtime"
	"sync/atomic"

	"ropewalk.bench/src/measure"
)

var ran atomic.Uint64

func main() {
	runtime.LockOSThread()
	run := measure.Start()
	tasks := run.Pick(1_000_000, 100_000)
	run.MeasureFixed(tasks, func() {
		goal := ran.Load() + tasks
		for i := uint64(0); i < tasks; i++ {
			go func() { ran.Add(1) }()
		}
		drained := make(chan struct{})
		go func() {
			for ran.Load() < goal {
				runtime.Gosched()
			}
			close(drained)
		}()
		<-drained
	}).Rate().Print()
}
