//go:build amd64 && gc && !purego && !noasm

package accel

// cpuid executes the instruction of that name.
//
//go:noescape
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

// xgetbv returns the low half of XCR0: the register states the operating system saves.
//
//go:noescape
func xgetbv() (lo uint32)

// detect reports which tiers the processor has and the operating system supports.
func detect() (avx2, avx512 bool) {
	const (
		// Leaf 1, ecx.
		fma     = 1 << 12
		osxsave = 1 << 27
		avx     = 1 << 28
		// Leaf 7, ebx.
		avx2Bit  = 1 << 5
		avx512f  = 1 << 16
		avx512dq = 1 << 17
		avx512vl = 1 << 31
		// XCR0: SSE and AVX state; opmasks, upper halves of registers 0 to 15, registers 16 to 31.
		ymm = 1<<1 | 1<<2
		zmm = ymm | 1<<5 | 1<<6 | 1<<7
	)
	has := func(x, bits uint32) bool { return x&bits == bits }
	if leaves, _, _, _ := cpuid(0, 0); leaves < 7 {
		return false, false
	}
	_, _, c1, _ := cpuid(1, 0)
	if !has(c1, fma|osxsave|avx) {
		return false, false
	}
	state := xgetbv()
	_, b7, _, _ := cpuid(7, 0)
	avx2 = has(b7, avx2Bit) && has(state, ymm)
	avx512 = avx2 && has(b7, avx512f|avx512dq|avx512vl) && has(state, zmm)
	return avx2, avx512
}
