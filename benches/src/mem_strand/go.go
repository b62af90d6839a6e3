// mem_strand in Go: goroutines parked in a receive. The heap figure is what the runtime says it gave to objects and to
// stacks, both of which live in its own heap.
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"

	"ropewalk.bench/src/measure"
)

const (
	warm = 2000
	wave = 100
)

var (
	parked atomic.Uint64
	over   = make(chan struct{})
)

func main() {
	run := measure.Start()
	strands := run.Pick(100_000, 10_000)
	park(warm)
	heap, resident, allocations := footprint()
	park(strands)
	heapAfter, residentAfter, allocationsAfter := footprint()
	close(over)
	measure.Sample{
		Value: (heapAfter - heap) / float64(strands),
		Unit:  "B",
		Ops:   strands,
		Extra: map[string]float64{
			"rss":         (residentAfter - resident) / float64(strands),
			"allocations": (allocationsAfter - allocations) / float64(strands),
		},
	}.Print()
}

func park(strands uint64) {
	for i := uint64(0); i < strands/wave; i++ {
		goal := parked.Load() + wave
		for j := 0; j < wave; j++ {
			go func() {
				parked.Add(1)
				<-over
			}()
		}
		for parked.Load() < goal {
			runtime.Gosched()
		}
	}
}

func footprint() (heap, resident, allocations float64) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc + stats.StackInuse), residentBytes(), float64(stats.Mallocs)
}

// residentBytes reads the exact sum over the mappings, as mem_task/mod.rs does.
func residentBytes() float64 {
	rollup, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		panic(err)
	}
	for _, line := range bytes.Split(rollup, []byte("\n")) {
		var kib float64
		if n, _ := fmt.Sscanf(string(line), "Rss: %f kB", &kib); n == 1 {
			return kib * 1024
		}
	}
	panic("no Rss in smaps_rollup")
}
