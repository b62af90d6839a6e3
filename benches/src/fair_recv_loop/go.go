// fair_recv_loop in Go.
package main

import (
	"sort"
	"sync/atomic"
	"time"

	"ropewalk.bench/src/measure"
)

const (
	tick     = time.Millisecond
	capacity = 128
	messages = 64
)

func main() {
	run := measure.Start()
	until := time.Now().Add(time.Duration(run.Pick(3000, 200)) * time.Millisecond)
	var over atomic.Bool
	go func() {
		channel := make(chan uint64, capacity)
		for i := uint64(0); i < messages; i++ {
			channel <- i
		}
		for !over.Load() {
			channel <- <-channel
		}
	}()
	var late []time.Duration
	from := time.Now()
	for time.Now().Before(until) {
		due := time.Now().Add(tick)
		time.Sleep(tick)
		late = append(late, time.Since(due))
	}
	seconds := time.Since(from).Seconds()
	over.Store(true)
	sort.Slice(late, func(i, j int) bool { return late[i] < late[j] })
	quantile := func(share float64) float64 {
		return float64(late[min(len(late)-1, int(float64(len(late))*share))]) / 1e3
	}
	measure.Sample{
		Value:   quantile(0.5),
		Unit:    "us",
		Ops:     uint64(len(late)),
		Seconds: seconds,
		Extra:   map[string]float64{"p99": quantile(0.99), "p999": quantile(0.999), "max": quantile(1)},
	}.Print()
}
