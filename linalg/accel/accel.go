package accel

var tier = "none"

// Tier returns which kernels are in force: "avx512", "avx2", or "none" where the platform, the
// processor, the operating system or the build tag purego leaves the plain Go loops in place.
func Tier() string { return tier }
