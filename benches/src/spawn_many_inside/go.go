// spawn_many_inside in Go.
package main

import (
	"math/bits"
	"runtime"
	"sync/atomic"

	"ropewalk.bench/src/measure"
)

const workSteps = 600

var (
	ran  atomic.Uint64
	sink atomic.Uint64
)

func main() {
	run := measure.Start()
	tasks, unit := run.Pick(1_000_000, 100_000), func() { ran.Add(1) }
	if run.Problem != "spawn_many_inside" {
		tasks, unit = run.Pick(200_000, 20_000), workAndCount
	}
	run.MeasureFixed(tasks, func() {
		goal := ran.Load() + tasks
		for i := uint64(0); i < tasks; i++ {
			go unit()
		}
		for ran.Load() < goal {
			runtime.Gosched()
		}
	}).Rate().Print()
}

func workAndCount() {
	work()
	ran.Add(1)
}

// work is count.rs's: each step multiplies, rotates and flips what the step before left.
//
//go:noinline
func work() {
	x := uint64(1)
	for i := 0; i < workSteps; i++ {
		x = bits.RotateLeft64(x*0x9E3779B97F4A7C15, 29) ^ 0xA5A5
	}
	if x == 0 {
		sink.Add(x)
	}
}
