package cmbo

import (
	"os"
	"runtime/debug"
	"testing"
)

// The heap of tests is small, and most of what they allocate is soon free: with Go's usual target collections take a sixth
// of their time.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}
