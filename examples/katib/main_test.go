package main

import (
	"context"
	"io"
	"testing"
)

// TestStopBeforeServing: a service that is told to stop before it serves ends without an
// error, as one that serves does.
func TestStopBeforeServing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 50 {
		if err := run(ctx, []string{"-addr", "127.0.0.1:0"}, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
}
