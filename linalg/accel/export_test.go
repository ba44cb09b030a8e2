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
		t = append(t, TierTable{k.name, k.lanes, k.table()})
	}
	return t
}

// SetBlocks sets the cuts of Gemm and Trsm and returns a function that restores
// them.
func SetBlocks(k, m, n int) (restore func()) {
	ok, om, on := gemmK, gemmM, trsmN
	gemmK, gemmM, trsmN = k, m, n
	return func() { gemmK, gemmM, trsmN = ok, om, on }
}
