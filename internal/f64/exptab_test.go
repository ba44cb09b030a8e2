package f64

import (
	"math"
	"math/big"
	"testing"
)

// TestExpTable compares the powers with those that 200-bit arithmetic makes of nine square
// roots of 2, rounded once.
func TestExpTable(t *testing.T) {
	root := new(big.Float).SetPrec(200).SetInt64(2)
	for range 9 {
		root.Sqrt(root)
	}
	power := new(big.Float).SetPrec(200).SetInt64(1)
	for j, got := range expTable {
		want, _ := power.Float64()
		if got += uint64(j) << 43; got != math.Float64bits(want) {
			t.Errorf("2^(%d/512) is %v, want %v", j, math.Float64frombits(got), want)
		}
		power.Mul(power, root)
	}
}
