package f64

// SetGemmBlocks sets the block sizes of the generic product and returns a
// function that restores them.
func SetGemmBlocks(m, n, k int) (restore func()) {
	om, on, ok := gemmM, gemmN, gemmK
	gemmM, gemmN, gemmK = m, n, k
	return func() { gemmM, gemmN, gemmK = om, on, ok }
}
