// semaphore in Go: a channel of capacity 1, as its documentation shows.
package main

import (
	"runtime"
	"sync"

	"ropewalk.bench/src/measure"
)

func main() {
	run := measure.Start()
	tasks := uint64(8)
	if run.Problem == "semaphore_free" {
		tasks = 1
	}
	yielding := run.Problem == "semaphore_yielding"
	run.Measure(func(acquisitions uint64) { acquire(acquisitions, tasks, yielding) }).Print()
}

func acquire(acquisitions, tasks uint64, yielding bool) {
	permits := make(chan struct{}, 1)
	var all sync.WaitGroup
	all.Add(int(tasks))
	for i := uint64(0); i < tasks; i++ {
		go func() {
			for i := uint64(0); i < acquisitions/tasks; i++ {
				permits <- struct{}{}
				if yielding {
					runtime.Gosched()
				}
				<-permits
			}
			all.Done()
		}()
	}
	all.Wait()
}
