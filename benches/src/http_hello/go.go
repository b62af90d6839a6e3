// http_hello in Go: net/http.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"

	"ropewalk.bench/src/measure"
)

var words = []byte("Hello from the other side\n")

func main() {
	measure.Start()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	go measure.EndWithParent()
	err = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(words)
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
