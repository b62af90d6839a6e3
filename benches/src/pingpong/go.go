// pingpong in Go. For pingpong_cross each goroutine has a thread of its own.
package main

import (
	"runtime"
	"sync"

	"ropewalk.bench/src/measure"
)

func main() {
	run := measure.Start()
	apart := run.Problem == "pingpong_cross"
	run.Measure(func(hops uint64) { rally(hops/2, apart) }).Print()
}

func rally(rallies uint64, apart bool) {
	ping, pong := make(chan uint64, 1), make(chan uint64, 1)
	var both sync.WaitGroup
	both.Add(2)
	go func() {
		if apart {
			runtime.LockOSThread()
		}
		for i := uint64(0); i < rallies; i++ {
			ping <- i
			if <-pong != i {
				panic("a wrong answer")
			}
		}
		close(ping)
		both.Done()
	}()
	go func() {
		if apart {
			runtime.LockOSThread()
		}
		for i := range ping {
			pong <- i
		}
		both.Done()
	}()
	both.Wait()
}
