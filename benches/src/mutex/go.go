// mutex in Go.
package main

import (
	"runtime"
	"sync"

	"ropewalk.bench/src/measure"
)

func main() {
	run := measure.Start()
	tasks := uint64(8)
	if run.Problem == "mutex_free" {
		tasks = 1
	}
	yielding := run.Problem == "mutex_yielding"
	run.Measure(func(acquisitions uint64) { locks(acquisitions, tasks, yielding) }).Print()
}

func locks(acquisitions, tasks uint64, yielding bool) {
	var lock sync.Mutex
	var all sync.WaitGroup
	count := uint64(0)
	all.Add(int(tasks))
	for i := uint64(0); i < tasks; i++ {
		go func() {
			for i := uint64(0); i < acquisitions/tasks; i++ {
				lock.Lock()
				count++
				if yielding {
					runtime.Gosched()
				}
				lock.Unlock()
			}
			all.Done()
		}()
	}
	all.Wait()
	if count != acquisitions {
		panic("acquisitions were lost")
	}
}
