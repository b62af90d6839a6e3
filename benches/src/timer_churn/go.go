// timer_churn and timer_bytes in Go: time.AfterFunc and Stop.
package main

import (
	"runtime"
	"time"

	"ropewalk.bench/src/measure"
)

func main() {
	run := measure.Start()
	switch run.Problem {
	case "timer_churn":
		churn(run, 1)
	case "timer_churn_1m":
		churn(run, run.Pick(1_000_000, 100_000))
	case "timer_bytes":
		bytes(run.Pick(200_000, 20_000))
	}
}

func span(number uint64) time.Duration {
	mixed := (number + 1) * 0x9E3779B97F4A7C15
	mixed = (mixed ^ mixed>>30) * 0xBF58476D1CE4E5B9
	return time.Duration((mixed ^ mixed>>27) % uint64(time.Minute))
}

func never() {}

func register(count uint64) []*time.Timer {
	pending := make([]*time.Timer, 0, count)
	for number := uint64(0); number < count; number++ {
		pending = append(pending, time.AfterFunc(time.Hour+span(number), never))
	}
	return pending
}

func churn(run measure.Run, live uint64) {
	pending := register(live)
	number := uint64(0)
	run.Measure(func(pairs uint64) {
		for i := uint64(0); i < pairs; i++ {
			number++
			time.AfterFunc(time.Minute+span(number), never).Stop()
		}
	}).Print()
	runtime.KeepAlive(pending)
}

func bytes(count uint64) {
	register(100)
	before := heap()
	pending := register(count)
	after := heap()
	// The table of pointers is the caller's.
	value := (after-before)/float64(count) - 8
	measure.Sample{Value: value, Unit: "B", Ops: count, Extra: map[string]float64{}}.Print()
	runtime.KeepAlive(pending)
}

func heap() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
