// fair_short_hogs in Go. The first argument says what to measure, as in shape.rs, and how many milliseconds do not count and count:
// timers/2w/2x1ms/yield/1t/100/1000.
package main

import (
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ropewalk.bench/src/measure"
)

const (
	tick    = time.Millisecond
	starts  = 5 * time.Millisecond
	message = 64
)

var (
	counts, over atomic.Bool
	computed     atomic.Int64
	lock         sync.Mutex
	late         []time.Duration
	first        time.Duration
	done         sync.WaitGroup
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func took(span time.Duration) {
	lock.Lock()
	defer lock.Unlock()
	if counts.Load() {
		late = append(late, span)
	} else {
		first = max(first, span)
	}
}

// A poll's length now.
type length func() time.Duration

func lengthOf(text string) length {
	if text == "turn" {
		return func() time.Duration {
			if counts.Load() {
				return 1900 * time.Microsecond
			}
			return time.Microsecond
		}
	}
	millis, err := strconv.ParseFloat(strings.TrimSuffix(text, "ms"), 64)
	fail(err)
	span := time.Duration(millis * 1e6)
	return func() time.Duration { return span }
}

func compute(span time.Duration) {
	for from := time.Now(); time.Since(from) < span; {
	}
	if counts.Load() && !over.Load() {
		computed.Add(int64(span))
	}
}

func startHog(way string, poll length) {
	switch way {
	case "handover":
		there, back := make(chan int, 1), make(chan int, 1)
		hog := func(from, to chan int) {
			for range from {
				if over.Load() {
					return
				}
				compute(poll())
				to <- 0
			}
		}
		go hog(there, back)
		go hog(back, there)
		there <- 0
	case "successor":
		go succeed(poll)
	default:
		go func() {
			for !over.Load() {
				compute(poll())
				runtime.Gosched()
			}
		}()
	}
}

func succeed(poll length) {
	if !over.Load() {
		compute(poll())
		go succeed(poll)
	}
}

// A thread of its own, that sleeps by itself.
func outside(work func(pause func(time.Duration))) {
	go func() {
		runtime.LockOSThread()
		work(func(span time.Duration) {
			left := syscall.NsecToTimespec(int64(span))
			for syscall.Nanosleep(&left, &left) == syscall.EINTR {
			}
		})
	}()
}

func startTimer() {
	done.Add(1)
	go func() {
		defer done.Done()
		for !over.Load() {
			due := time.Now().Add(tick)
			time.Sleep(tick)
			took(time.Since(due))
		}
	}()
}

func startEcho() {
	done.Add(1)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	fail(err)
	port := listener.Addr().(*net.TCPAddr).Port
	outside(func(pause func(time.Duration)) {
		defer done.Done()
		// A socket that blocks, outside of what the runtime watches.
		socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		fail(err)
		fail(syscall.Connect(socket, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
		fail(syscall.SetsockoptInt(socket, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1))
		var bytes [message]byte
		for !over.Load() {
			sent := time.Now()
			_, err := syscall.Write(socket, bytes[:])
			fail(err)
			for read := 0; read < message; {
				count, err := syscall.Read(socket, bytes[read:])
				if err != syscall.EINTR {
					fail(err)
					read += count
				}
			}
			took(time.Since(sent))
			pause(tick)
		}
	})
	go func() {
		stream, err := listener.Accept()
		fail(err)
		var bytes [message]byte
		for {
			if _, err := io.ReadFull(stream, bytes[:]); err != nil {
				return
			}
			_, err := stream.Write(bytes[:])
			fail(err)
		}
	}()
}

func inject(tickers int) {
	done.Add(1)
	outside(func(pause func(time.Duration)) {
		defer done.Done()
		for !over.Load() {
			for i := 0; i < tickers; i++ {
				done.Add(1)
				spawned := time.Now()
				go func() {
					defer done.Done()
					took(time.Since(spawned))
				}()
			}
			pause(tick)
		}
	})
}

func startChild() {
	done.Add(1)
	writers := make(chan *os.File, 1)
	var closed atomic.Int64
	from := time.Now()
	outside(func(pause func(time.Duration)) {
		for writer := range writers {
			pause(starts)
			closed.Store(int64(time.Since(from)))
			writer.Close()
		}
	})
	go func() {
		defer done.Done()
		for !over.Load() {
			reader, writer, err := os.Pipe()
			fail(err)
			reads := exec.Command("cat")
			reads.Stdin = reader
			fail(reads.Start())
			reader.Close()
			writers <- writer
			fail(reads.Wait())
			took(time.Since(from) - time.Duration(closed.Load()))
		}
	}()
}

func startSignals(tickers int) {
	done.Add(1)
	var sent atomic.Int64
	from, heard := time.Now(), make(chan bool, tickers)
	for i := 0; i < tickers; i++ {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGUSR1)
		go func() {
			for range signals {
				took(time.Since(from) - time.Duration(sent.Load()))
				heard <- true
			}
		}()
	}
	outside(func(pause func(time.Duration)) {
		defer done.Done()
		for !over.Load() {
			sent.Store(int64(time.Since(from)))
			fail(syscall.Kill(os.Getpid(), syscall.SIGUSR1))
			for i := 0; i < tickers; i++ {
				<-heard
			}
			pause(tick)
		}
	})
}

func main() {
	run := measure.Start()
	parts := strings.Split(run.Problem, "/")
	number := func(text string) int {
		number, err := strconv.Atoi(text)
		fail(err)
		return number
	}
	count, poll, _ := strings.Cut(parts[2], "x")
	hogs, tickers := number(count), number(strings.TrimSuffix(parts[4], "t"))
	warm, counted := number(parts[5]), number(parts[6])

	outside(func(pause func(time.Duration)) {
		pause(time.Duration(warm) * time.Millisecond)
		counts.Store(true)
		pause(time.Duration(counted) * time.Millisecond)
		over.Store(true)
	})
	for i := 0; i < hogs; i++ {
		startHog(parts[3], lengthOf(poll))
	}
	switch parts[0] {
	case "inject":
		inject(tickers)
	case "signals":
		startSignals(tickers)
	default:
		start := map[string]func(){"timers": startTimer, "echo": startEcho, "child": startChild}[parts[0]]
		for i := 0; i < tickers; i++ {
			start()
		}
	}
	done.Wait()

	lock.Lock()
	defer lock.Unlock()
	if len(late) == 0 {
		late = append(late, time.Duration(warm+counted)*time.Millisecond) // nothing came in all this time
	}
	sort.Slice(late, func(i, j int) bool { return late[i] < late[j] })
	at := func(share float64) float64 {
		return float64(late[int(math.Round(float64(len(late)-1)*share))]) / 1e3
	}
	latest := at(1)
	if poll == "turn" {
		latest = max(latest, float64(first)/1e3)
	}
	measure.Sample{
		Value:   at(0.5),
		Unit:    "us",
		Ops:     uint64(len(late)),
		Seconds: float64(counted) / 1e3,
		Extra: map[string]float64{
			"p99":   at(0.99),
			"p999":  at(0.999),
			"max":   latest,
			"first": float64(first) / 1e3,
			"hogs":  float64(computed.Load()) / float64(counted) / 1e6,
		},
	}.Print()
}
