package main

import (
	"net"
	"testing"

	"google.golang.org/grpc"
)

// TestStopBeforeServing: a service that is told to stop before it serves ends without an
// error, as one that serves does.
func TestStopBeforeServing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	s.GracefulStop()
	if err := serve(s, l); err != nil {
		t.Fatal(err)
	}
}
