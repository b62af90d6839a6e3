// tcp_echo in Go: a goroutine for each connection.
package main

import (
	"fmt"
	"io"
	"net"
	"os"

	"ropewalk.bench/src/measure"
)

const buffer = 1024

func main() {
	measure.Start()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	go measure.EndWithParent()
	for {
		stream, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go echo(stream)
	}
}

func echo(stream io.ReadWriteCloser) {
	defer stream.Close()
	var bytes [buffer]byte
	for {
		count, err := stream.Read(bytes[:])
		if err != nil {
			return
		}
		if _, err := stream.Write(bytes[:count]); err != nil {
			return
		}
	}
}
