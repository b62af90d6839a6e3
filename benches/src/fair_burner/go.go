// fair_burner in Go.
package main

import (
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"ropewalk.bench/src/measure"
)

const (
	tick    = time.Millisecond
	hold    = 50 * time.Millisecond
	tickers = 10
	burners = 2
)

// A goroutine may be moved to another thread while it burns, so there is no clock for its CPU time: it does what took as
// long when there was nobody else.
var rounds = calibrate()

var sink atomic.Uint64

func burn(rounds uint64) {
	x := uint64(1)
	for i := uint64(0); i < rounds; i++ {
		x = x*0x9E3779B97F4A7C15 + i
	}
	sink.Store(x)
}

// The fastest of some tries: others may have disturbed the rest.
func calibrate() uint64 {
	const some = 1 << 22
	fastest := time.Hour
	for try := 0; try < 10; try++ {
		from := time.Now()
		burn(some)
		fastest = min(fastest, time.Since(from))
	}
	return some * uint64(hold) / uint64(fastest)
}

func span(number uint64, limit time.Duration) time.Duration {
	mixed := (number + 1) * 0x9E3779B97F4A7C15
	mixed = (mixed ^ mixed>>30) * 0xBF58476D1CE4E5B9
	return time.Duration((mixed ^ mixed>>27) % uint64(limit))
}

func main() {
	run := measure.Start()
	calm, first, measured := run.Pick(200, 20), run.Pick(500, 100), run.Pick(3000, 200)
	late := make([][]time.Duration, tickers)
	var over atomic.Bool
	var holds atomic.Uint64
	var group sync.WaitGroup
	group.Add(tickers)
	from := time.Now()
	for number := range late {
		late[number] = make([]time.Duration, 0, calm+first+measured)
		go func(number int) {
			defer group.Done()
			due := from.Add(span(uint64(number), tick))
			for i := uint64(0); i < calm+first+measured; i++ {
				due = due.Add(tick)
				if ahead := time.Until(due); ahead > 0 {
					time.Sleep(ahead)
				}
				late[number] = append(late[number], time.Since(due))
			}
		}(number)
	}
	time.Sleep(time.Duration(calm+2) * tick)
	for i := 0; i < burners; i++ {
		go func() {
			for !over.Load() {
				burn(rounds)
				holds.Add(1)
				runtime.Gosched()
			}
		}()
	}
	group.Wait()
	over.Store(true)
	seconds := time.Since(from).Seconds()

	var all []time.Duration
	var worst time.Duration
	for _, some := range late {
		for _, one := range some[calm : calm+first] {
			worst = max(worst, one)
		}
		all = append(all, some[calm+first:]...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	quantile := func(share float64) float64 {
		return float64(all[min(len(all)-1, int(float64(len(all))*share))]) / 1e3
	}
	measure.Sample{
		Value:   quantile(0.5),
		Unit:    "us",
		Ops:     uint64(len(all)),
		Seconds: seconds,
		Extra: map[string]float64{
			"p99":   quantile(0.99),
			"p999":  quantile(0.999),
			"max":   quantile(1),
			"first": float64(worst) / 1e3,
			"holds": float64(holds.Load()),
		},
	}.Print()
}
