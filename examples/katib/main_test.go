package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// TestStopAmidAWatch: a client that watches the service's health does not keep it
// from ending.
func TestStopAmidAWatch(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"-addr", "127.0.0.1:0", "-shutdown", "10ms"}, w, io.Discard) }()
	var addr string
	if _, err := fmt.Fscanf(r, "listening on %s\n", &addr); err != nil {
		t.Fatal(err)
	}
	c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	watch, err := grpc_health_v1.NewHealthClient(c).Watch(context.Background(), &grpc_health_v1.HealthCheckRequest{Service: "manager.v1beta1.Suggestion"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the service goes on")
	}
}

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
