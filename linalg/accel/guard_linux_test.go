//go:build linux && amd64 && gc && !purego && !noasm

package accel_test

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns a copy of x whose last entry ends a page before one that cannot
// be touched: a read or write past the end kills the test. Every second call
// places it after such a page instead, for what comes before the start. The
// memory is given back when the test ends or, to bound its number of mappings,
// when its turn comes again.
func guarded(t testing.TB, x []float64) []float64 {
	page := os.Getpagesize()
	r := &regions[nextRegion%len(regions)]
	nextRegion++
	size := (8*len(x) + page - 1) / page * page
	if len(*r) < size+2*page {
		if *r != nil {
			if err := syscall.Munmap(*r); err != nil {
				t.Fatal(err)
			}
		}
		m, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range [][]byte{m[:page], m[len(m)-page:]} {
			if err := syscall.Mprotect(p, syscall.PROT_NONE); err != nil {
				t.Fatal(err)
			}
		}
		*r = m
	}
	if len(x) == 0 {
		return nil
	}
	m := (*r)[page : len(*r)-page]
	at := &m[len(m)-8*len(x)]
	if nextRegion/len(regions)%2 == 1 {
		at = &m[0]
	}
	s := unsafe.Slice((*float64)(unsafe.Pointer(at)), len(x))
	copy(s, x)
	return s
}

// regions are reused in turn: more than any test holds at a time.
var (
	regions    [31][]byte
	nextRegion int
)
