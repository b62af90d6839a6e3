// channel in Go: channels with a bound.
package main

import (
	"sync/atomic"

	"ropewalk.bench/src/measure"
)

const capacity = 128

func main() {
	run := measure.Start()
	senders, receivers := 1, 1
	switch run.Problem {
	case "mpsc_bounded":
		senders = 4
	case "mpmc_bounded":
		senders, receivers = 4, 4
	}
	run.Measure(func(messages uint64) { flow(messages, senders, receivers) }).Rate().Print()
}

func flow(messages uint64, senders, receivers int) {
	channel := make(chan uint64, capacity)
	var sending atomic.Int64
	sending.Store(int64(senders))
	for i := 0; i < senders; i++ {
		go func() {
			for message := uint64(0); message < messages/uint64(senders); message++ {
				channel <- message
			}
			if sending.Add(-1) == 0 {
				close(channel)
			}
		}()
	}
	received := make(chan uint64, receivers)
	for i := 0; i < receivers; i++ {
		go func() {
			count := uint64(0)
			for range channel {
				count++
			}
			received <- count
		}()
	}
	all := uint64(0)
	for i := 0; i < receivers; i++ {
		all += <-received
	}
	if all != messages {
		panic("messages were lost")
	}
}
