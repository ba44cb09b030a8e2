package rng

import (
	"fmt"
	"math"
	"testing"
)

// TestStreamGolden holds the streams themselves: proposals and learnt priors are
// functions of them, so a change here changes every recorded run.
func TestStreamGolden(t *testing.T) {
	tests := []struct {
		seed  uint64
		label string
		index []uint64
		want  [4]uint64
	}{
		{0, "", nil, [4]uint64{0xcece3b2fdfeb035d, 0x859645928a6716ea, 0x4e880fc7f8c7f71e, 0x2c5195c4a84e0611}},
		{1, "learn", nil, [4]uint64{0x7585b0ef5e7af67, 0x51795acd392b4827, 0x371014526a689d69, 0xa28a2760409477aa}},
		{1, "learn", []uint64{0}, [4]uint64{0x476bfe42d070842b, 0x9b0bacb611a4b1f3, 0xc9ea7678f6cd6234, 0x618d4ebb1adfe74a}},
		{1, "learn", []uint64{1}, [4]uint64{0xd2b0ffeacb16b3df, 0x5c60309819d425d5, 0x4ca4519ca43e81aa, 0xf12fbdf37415f5ac}},
		{42, "candidates", []uint64{3, 5}, [4]uint64{0x312d9606eee431b, 0x9c1177b836c050a1, 0xaa82ec1d1c416520, 0xdc0620de11ebae53}},
		{1<<64 - 1, "a label longer than eight bytes", []uint64{1<<64 - 1}, [4]uint64{0x91e4fd5985d91c1f, 0x732365e57baf9013, 0x1e45456ba39661cd, 0x5b85d19066fb4a39}},
	}
	for _, tt := range tests {
		r := Stream(tt.seed, tt.label, tt.index...)
		for i, want := range tt.want {
			if got := r.Uint64(); got != want {
				t.Errorf("Stream(%d, %q, %d) draw %d = %#x, want %#x", tt.seed, tt.label, tt.index, i, got, want)
			}
		}
	}
}

// TestStreamDistinct draws from streams whose names are easily confused.
func TestStreamDistinct(t *testing.T) {
	seen := map[uint64]string{}
	add := func(seed uint64, label string, index ...uint64) {
		t.Helper()
		name := fmt.Sprintf("(%d, %q, %d)", seed, label, index)
		v := Stream(seed, label, index...).Uint64()
		if other, ok := seen[v]; ok {
			t.Errorf("streams %s and %s start alike", name, other)
		}
		seen[v] = name
	}
	labels := []string{"", "\x00", "a", "a\x00", "a\x00\x00", "aa", "12345678", "12345678\x00", "123456789", "987654321"}
	for _, l := range labels {
		add(0, l)
		for i := range uint64(100) {
			add(i+1, l)
			add(0, l, i)
			add(0, l, i, 0)
			add(0, l, 0, i+1)
			add(0, l, 0, 0, i)
			add(0, l, i<<32+1<<60)
		}
	}
}

// TestStreamIndependent looks at the streams of neighbouring names side by side:
// bits of equal draws must agree half of the time and uniforms must not
// correlate. 6 standard errors with a fixed set of names.
func TestStreamIndependent(t *testing.T) {
	const names, draws = 64, 256
	u := make([][]float64, 0, 3*names)
	for i := range uint64(names) {
		for _, r := range []interface{ Uint64() uint64 }{
			Stream(i, "learn"), Stream(1, "learn", i), Stream(1, "learn", 3, i<<40),
		} {
			row := make([]float64, draws)
			for j := range row {
				row[j] = float64(r.Uint64()>>11)/(1<<53) - 0.5
			}
			u = append(u, row)
		}
	}
	// The correlation of independent uniforms has standard error 1/√draws; its
	// square, averaged over all pairs, has mean 1/draws and standard error
	// below √2/(draws·√pairs)·(1 + o(1)).
	var sum float64
	var pairs int
	for i := range u {
		for j := range i {
			var c float64
			for k := range draws {
				c += u[i][k] * u[j][k]
			}
			c *= 12 / float64(draws)
			if math.Abs(c) > 6/math.Sqrt(draws) {
				t.Errorf("streams %d and %d correlate: %.3f", i, j, c)
			}
			sum += c * c
			pairs++
		}
	}
	mean := sum / float64(pairs)
	se := math.Sqrt2 / (draws * math.Sqrt(float64(pairs)))
	if math.Abs(mean-1.0/draws) > 6*se {
		t.Errorf("mean squared correlation %.3g, want %.3g ± %.1g", mean, 1.0/draws, se)
	}
}

// TestMixAvalanche flips every input bit of the hash and counts output bits that
// follow. Each of the 64·128 frequencies over the trials has standard error
// 1/(2√trials).
func TestMixAvalanche(t *testing.T) {
	const trials = 1024
	base := func(i, flip uint64) (uint64, uint64) {
		h := hasher{a: 1, b: 2}
		h.word(i ^ flip)
		return h.sum()
	}
	for in := range 64 {
		var count [128]int
		for i := range uint64(trials) {
			a0, b0 := base(i, 0)
			a1, b1 := base(i, 1<<in)
			for out := range 64 {
				count[out] += int((a0 ^ a1) >> out & 1)
				count[64+out] += int((b0 ^ b1) >> out & 1)
			}
		}
		for out, c := range count {
			if p := float64(c) / trials; math.Abs(p-0.5) > 6/(2*math.Sqrt(trials)) {
				t.Errorf("input bit %d flips output bit %d with frequency %.3f", in, out, p)
			}
		}
	}
}

func BenchmarkStream(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Stream(1, "candidates", 17)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "streams/s")
}
