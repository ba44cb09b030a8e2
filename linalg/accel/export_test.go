//go:build amd64 && gc && !purego && !noasm

package accel

import "github.com/gocmbo/cmbo/internal/f64"

// TierTable is a tier by name.
type TierTable struct {
	Name  string
	Lanes int
	f64.Table
}

// Tables returns the tiers this machine can run.
func Tables() []TierTable {
	var t []TierTable
	for _, k := range tiers() {
		t = append(t, TierTable{k.name, k.lanes, k})
	}
	return t
}

// SetBlocks sets the cuts of Gemm and that of Trsm and returns a function that
// restores them.
func SetBlocks(k, m, n, trsm int) (restore func()) {
	ok, om, on, ot := gemmK, gemmM, gemmN, trsmN
	gemmK, gemmM, gemmN, trsmN = k, m, n, trsm
	return func() { gemmK, gemmM, gemmN, trsmN = ok, om, on, ot }
}
