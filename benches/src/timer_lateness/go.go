// timer_lateness and latency_under_load in Go: goroutines that sleep.
package main

import (
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ropewalk.bench/src/measure"
)

func main() {
	run := measure.Start()
	switch run.Problem {
	case "timer_lateness_10k":
		once(run.Pick(10_000, 1_000))
	case "timer_lateness_100k":
		once(run.Pick(100_000, 10_000))
	case "latency_under_load_10k":
		load(run, 10_000, 10*time.Millisecond)
	case "latency_under_load_100k":
		load(run, 100_000, 100*time.Millisecond)
	case "latency_under_overload":
		load(run, 100_000, 10*time.Millisecond)
	}
}

func span(number uint64, limit time.Duration) time.Duration {
	mixed := (number + 1) * 0x9E3779B97F4A7C15
	mixed = (mixed ^ mixed>>30) * 0xBF58476D1CE4E5B9
	return time.Duration((mixed ^ mixed>>27) % uint64(limit))
}

func once(tasks uint64) {
	late := make([]time.Duration, tasks)
	var group sync.WaitGroup
	group.Add(int(tasks))
	from, cpu := time.Now(), cpuTime()
	for number := uint64(0); number < tasks; number++ {
		go func(number uint64) {
			span := span(number, time.Second)
			due := time.Now().Add(span)
			time.Sleep(span)
			late[number] = time.Since(due)
			group.Done()
		}(number)
	}
	group.Wait()
	report(late, time.Since(from), cpuTime()-cpu)
}

// Each goroutine keeps its own list, so that recording is not what is measured.
func load(run measure.Run, tasks uint64, period time.Duration) {
	late := make([][]time.Duration, tasks)
	var on, over atomic.Bool
	var started atomic.Uint64
	var group sync.WaitGroup
	group.Add(int(tasks))
	for number := uint64(0); number < tasks; number++ {
		go func(number uint64) {
			defer group.Done()
			time.Sleep(span(number, period))
			started.Add(1)
			for !over.Load() {
				due := time.Now().Add(period)
				time.Sleep(period)
				if on.Load() {
					late[number] = append(late[number], time.Since(due))
				}
			}
		}(number)
	}
	for started.Load() < tasks {
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(time.Duration(run.Pick(1000, 100)) * time.Millisecond)
	from, cpu := time.Now(), cpuTime()
	on.Store(true)
	time.Sleep(time.Duration(run.Pick(3000, 250)) * time.Millisecond)
	on.Store(false)
	took, used := time.Since(from), cpuTime()-cpu
	over.Store(true)
	group.Wait()
	var all []time.Duration
	for _, some := range late {
		all = append(all, some...)
	}
	report(all, took, used)
}

func report(late []time.Duration, took time.Duration, cpu int64) {
	sort.Slice(late, func(i, j int) bool { return late[i] < late[j] })
	n := len(late)
	quantile := func(share float64) float64 {
		return float64(late[min(n-1, int(float64(n)*share))]) / 1e3
	}
	perOp := float64(cpu) / float64(n)
	measure.Sample{
		Value:   quantile(0.5),
		Unit:    "us",
		CPU:     &perOp,
		Ops:     uint64(n),
		Seconds: took.Seconds(),
		Extra: map[string]float64{
			"p99":  quantile(0.99),
			"p999": quantile(0.999),
			"max":  quantile(1),
			"rate": float64(n) / took.Seconds() / 1e6,
		},
	}.Print()
}

func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
