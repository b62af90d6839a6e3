// wake_latency in Go: a goroutine with a thread of its own sends to one that waits in a receive.
package main

import (
	"math"
	"runtime"
	"sort"
	"syscall"
	"time"

	"ropewalk.bench/src/measure"
)

const gap = 2 * time.Millisecond

func main() {
	run := measure.Start()
	count := run.Pick(500, 50)
	wake := make(chan time.Time)
	go func() {
		runtime.LockOSThread()
		span := syscall.NsecToTimespec(int64(gap))
		for i := uint64(0); i < count; i++ {
			syscall.Nanosleep(&span, nil)
			wake <- time.Now()
		}
	}()
	var micros []float64
	from := time.Now()
	for i := uint64(0); i < count; i++ {
		sent := <-wake
		micros = append(micros, float64(time.Since(sent))/1e3)
	}
	seconds := time.Since(from).Seconds()
	sort.Float64s(micros)
	at := func(share float64) float64 {
		return micros[int(math.Round(float64(len(micros)-1)*share))]
	}
	measure.Sample{
		Value:   at(0.5),
		Unit:    "us",
		Ops:     count,
		Seconds: seconds,
		Extra:   map[string]float64{"p99": at(0.99), "p999": at(0.999), "max": at(1)},
	}.Print()
}
