// Package measure is the measuring loop of meter.rs for the Go programs: the same batches, the same medians, the same
// line of JSON.
package measure

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"sort"
	"strconv"
	"syscall"
	"time"
)

const (
	minBatches = 3
	startOps   = 2000
)

// Run is what the program was asked to measure.
type Run struct {
	Problem string
	Quick   bool
}

// Sample is one measurement.
type Sample struct {
	Value   float64            `json:"value"`
	Unit    string             `json:"unit"`
	CPU     *float64           `json:"cpu_ns_per_op,omitempty"`
	Ops     uint64             `json:"ops"`
	Seconds float64            `json:"seconds"`
	Extra   map[string]float64 `json:"extra"`
}

// Start reads the arguments PROBLEM WORKERS full|quick.
func Start() Run {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: PROBLEM WORKERS full|quick")
		os.Exit(2)
	}
	workers, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	runtime.GOMAXPROCS(workers)
	return Run{Problem: os.Args[1], Quick: os.Args[3] == "quick"}
}

// Pick is full or, in a quick run, quick.
func (r Run) Pick(full, quick uint64) uint64 {
	if r.Quick {
		return quick
	}
	return full
}

func (r Run) measuringTime() time.Duration {
	return time.Duration(r.Pick(400, 40)) * time.Millisecond
}

// Measure measures batch(ops), which runs ops operations to their end; how many is chosen here.
func (r Run) Measure(batch func(ops uint64)) Sample {
	ops := uint64(startOps)
	for timed(func() { batch(ops) }) < r.measuringTime()/10 {
		ops *= 2
	}
	return r.MeasureFixed(ops, func() { batch(ops) })
}

// MeasureFixed measures batch, which runs exactly ops operations to their end.
func (r Run) MeasureFixed(ops uint64, batch func()) Sample {
	warm := time.Now()
	for time.Since(warm) < r.measuringTime()/4 {
		batch()
	}
	var times []time.Duration
	var total time.Duration
	cpu, switches := usage()
	for total < r.measuringTime() || len(times) < minBatches {
		took := timed(batch)
		total += took
		times = append(times, took)
	}
	cpuAfter, switchesAfter := usage()
	allOps := float64(ops) * float64(len(times))
	cpuPerOp := float64(cpuAfter-cpu) / allOps
	return Sample{
		Value:   median(times) / float64(ops),
		Unit:    "ns",
		CPU:     &cpuPerOp,
		Ops:     uint64(allOps),
		Seconds: total.Seconds(),
		Extra: map[string]float64{
			"voluntary_switches_per_op": float64(switchesAfter-switches) / allOps,
			"mean_ns_per_op":            float64(total) / allOps,
		},
	}
}

// Rate is the same measurement as a rate.
func (s Sample) Rate() Sample {
	s.Value = 1e3 / s.Value
	s.Unit = "M/s"
	return s
}

// Print prints the line that the driver reads.
func (s Sample) Print() {
	line, err := json.Marshal(s)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(line))
}

// EndWithParent ends this process when the one that started it has gone: it holds the other end of stdin.
func EndWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func median(times []time.Duration) float64 {
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	n := len(times)
	if n%2 == 1 {
		return float64(times[n/2])
	}
	return float64(times[n/2-1]+times[n/2]) / 2
}

// usage gives the CPU time of all threads in nanoseconds, and how often they gave up their core.
func usage() (int64, int64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano(), u.Nvcsw
}
