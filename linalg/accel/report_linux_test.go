//go:build linux && amd64 && gc && !purego && !noasm

package accel_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
	"unsafe"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/accel"
	"github.com/gocmbo/cmbo/linalg/accel/internal/peak"
)

var report = flag.Bool("report", false, "print the rates of the products as parts of the peak")

// chunk is how long a measurement runs before the next candidate has its turn.
const chunk = 300 * time.Microsecond

// threadTime returns the processor time of this thread, which other programs on
// a busy machine do not lengthen.
func threadTime() time.Duration {
	const clockThreadCPUTimeID = 3
	var ts syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTimeID, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}

// medians runs the functions in turn and returns the median time of each call.
func medians(rounds int, f []func()) []float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	count := make([]int, len(f))
	for i := range f {
		f[i]()
		start := threadTime()
		f[i]()
		count[i] = max(1, int(chunk/(threadTime()-start+1)))
	}
	times := make([][]float64, len(f))
	for range rounds {
		for i := range f {
			start := threadTime()
			for range count[i] {
				f[i]()
			}
			times[i] = append(times[i], float64(threadTime()-start)/float64(count[i]))
		}
	}
	m := make([]float64, len(f))
	for i := range m {
		slices.Sort(times[i])
		m[i] = times[i][rounds/2]
	}
	return m
}

// TestReport prints, with -report, what the products reach of the rate of
// independent multiply-adds measured beside them, chunk by chunk in turn.
func TestReport(t *testing.T) {
	if !*report {
		t.Skip("without -report")
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "product\tn\ttier\tpeak GF/s\tGF/s\tpart\t")
	rng := testutil.RNG(t)
	for _, n := range []int{8, 16, 50, 100, 300, 1000} {
		for _, s := range []struct {
			name string
			s    [4]int
		}{{"NN", [4]int{n, 1, n, 1}}, {"NT", [4]int{n, 1, 1, n}}, {"TN", [4]int{1, n, n, 1}}} {
			for _, tab := range accel.Tables() {
				x, y, z := fill(rng, n*n), fill(rng, n*n), make([]float64, n*n)
				var flops float64
				m := medians(min(max(9, 3_000_000/(n*n)), 301), []func(){
					func() { flops = peak.Run(tab.Lanes, 2000) },
					func() { tab.Gemm(n, n, n, 1e-9, x, s.s[0], s.s[1], y, s.s[2], s.s[3], z, n) },
				})
				p, g := flops/m[0], 2*float64(n)*float64(n)*float64(n)/m[1]
				fmt.Fprintf(w, "%s\t%d\t%s\t%.1f\t%.1f\t%.2f\t\n", s.name, n, tab.Name, p, g, g/p)
			}
		}
	}
	w.Flush()
}
