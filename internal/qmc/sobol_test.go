package qmc

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

// fill sets dst, row by row, to the next points of s.
func fill(s *Sobol, dst []float64) {
	for ; len(dst) > 0; dst = dst[s.dim:] {
		s.Next(dst[:s.dim])
	}
}

// TestGolden pins a scrambled sequence, a coordinate beyond MaxDim included.
func TestGolden(t *testing.T) {
	s := New(MaxDim+1, rand.New(rand.NewPCG(1, 2)))
	x := make([]float64, s.dim)
	for i, want := range [][3]float64{
		{0.6510948340811359, 0.6179411193699883, 0.45480575491474406},
		{0.4881327012756499, 0.09443543399948495, 0.2912725264810093},
		{0.0656215967106274, 0.3670176689516774, 0.43179206244175405},
		{0.7913355150156992, 0.8590292174223081, 0.2299844066422917},
		{0.9334205276971602, 0.9131054912505153, 0.5539036372770466},
	} {
		s.Next(x)
		if got := [3]float64{x[0], x[7], x[MaxDim]}; got != want {
			t.Errorf("point %d has %v, want %v", i, got, want)
		}
	}
}

// TestPropertyA counts points in orthants, through the public sequence.
func TestPropertyA(t *testing.T) {
	rng := testutil.RNG(t)
	for d := 1; d <= 12; d++ {
		s := New(d, rng)
		seen := make([]bool, 1<<d)
		x := make([]float64, d)
		for range seen {
			s.Next(x)
			c := 0
			for j, v := range x {
				if v > 0.5 {
					c |= 1 << j
				}
			}
			if seen[c] {
				t.Fatalf("dimension %d: two points in orthant %b", d, c)
			}
			seen[c] = true
		}
	}
}

// TestUnscrambled compares the plain sequence with the radical inverse and with
// values worked out by hand. The second coordinate has the direction numbers
// 1/2, 3/4, 5/8, which only the polynomial determines; the third has 1/2, 1/4 from
// the table and 7/8 = (2·1 ⊕ 4·1 ⊕ 1)/8 by the recurrence. Point i is the sum
// modulo 2 of those at the ones of i ⊕ i/2.
func TestUnscrambled(t *testing.T) {
	want := [][3]float64{
		{0, 0, 0}, {0.5, 0.5, 0.5}, {0.75, 0.25, 0.75}, {0.25, 0.75, 0.25},
		{0.375, 0.375, 0.625}, {0.875, 0.875, 0.125}, {0.625, 0.125, 0.375}, {0.125, 0.625, 0.875},
	}
	s := unscrambled(3)
	x := make([]float64, 3)
	for i, w := range want {
		s.Next(x)
		for j, v := range x {
			if v-0x1p-53 != w[j] {
				t.Errorf("point %d = %v, want %v", i, x, w)
			}
		}
	}
	s = unscrambled(1)
	for i := range uint64(1000) {
		s.Next(x[:1])
		gray := i ^ i>>1
		if w := float64(bits.Reverse64(gray)) / (1 << 64); x[0]-0x1p-53 != w {
			t.Fatalf("point %d = %v, want %v", i, x[0], w)
		}
	}
}

// TestStratified checks one point in each interval of length 2^-m for every
// coordinate, in the first block and in a later one, and that no coordinate touches
// the boundary.
func TestStratified(t *testing.T) {
	dim := MaxDim
	rng := testutil.RNG(t)
	for m := 0; m <= 9; m++ {
		n := 1 << m
		s := New(dim, rng)
		blocks := 2
		pts := make([]float64, blocks*n*dim)
		fill(s, pts)
		for b := range blocks {
			for j := range dim {
				seen := make([]bool, n)
				for i := b * n; i < (b+1)*n; i++ {
					v := pts[i*dim+j]
					if !(v > 0 && v < 1) {
						t.Fatalf("coordinate %d of point %d = %v", j, i, v)
					}
					c := int(v * float64(n))
					if seen[c] {
						t.Fatalf("m = %d, block %d, coordinate %d: two points in interval %d", m, b, j, c)
					}
					seen[c] = true
				}
			}
		}
	}
}

// TestNet2 checks that the first two coordinates are a (0, m, 2)-net in base 2:
// one point in each elementary interval [a, a+1)/2^p × [b, b+1)/2^(m−p).
func TestNet2(t *testing.T) {
	rng := testutil.RNG(t)
	for m := 1; m <= 10; m++ {
		n := 1 << m
		s := New(2, rng)
		pts := make([]float64, 2*3*n)
		fill(s, pts)
		for b := range 3 {
			for p := 0; p <= m; p++ {
				seen := make([]bool, n)
				for i := b * n; i < (b+1)*n; i++ {
					u := int(pts[2*i] * float64(int(1)<<p))
					v := int(pts[2*i+1] * float64(int(1)<<(m-p)))
					c := u<<(m-p) | v
					if seen[c] {
						t.Fatalf("m = %d, block %d, split %d: two points in one rectangle", m, b, p)
					}
					seen[c] = true
				}
			}
		}
	}
}

// TestMoments checks what scrambling promises in expectation: each coordinate of
// each point is uniform over scramblings. 6 standard errors.
func TestMoments(t *testing.T) {
	const dim, n, reps = 5, 8, 4000
	rng := testutil.RNG(t)
	var sum, sq [n * dim]float64
	pts := make([]float64, n*dim)
	for range reps {
		fill(New(dim, rng), pts)
		for i, v := range pts {
			sum[i] += v
			sq[i] += v * v
		}
	}
	for i := range pts {
		mean, second := sum[i]/reps, sq[i]/reps
		if se := math.Sqrt(1.0 / 12 / reps); math.Abs(mean-0.5) > 6*se {
			t.Errorf("mean of entry %d is %.4f", i, mean)
		}
		if se := math.Sqrt(4.0 / 45 / reps); math.Abs(second-1.0/3) > 6*se {
			t.Errorf("second moment of entry %d is %.4f", i, second)
		}
	}
}

// TestDiscrepancy compares the squared L2 star discrepancy with that of random
// points, whose mean is (2^-d − 3^-d)/n: its mean over scramblings, which is known
// exactly, has to be below by a factor, and a sample has to agree with the mean, 6
// standard errors. By this measure 512 points in 20 dimensions are hardly better
// than random ones, whatever the direction numbers, and samples scatter by more
// than the difference; their two-dimensional projections are much better.
func TestDiscrepancy(t *testing.T) {
	rng := testutil.RNG(t)
	for _, tt := range []struct {
		dim, n int
		factor float64 // at least this much below random
	}{{2, 256, 30}, {4, 256, 5}, {8, 512, 1.8}, {20, 512, 1}} {
		s := unscrambled(tt.dim)
		coords := make([]int, tt.dim)
		for j := range coords {
			coords[j] = j
		}
		mean, d := meanStarL2(s, tt.n, coords...), float64(tt.dim)
		random := (math.Pow(2, -d) - math.Pow(3, -d)) / float64(tt.n)
		t.Logf("dim %d, %d points: squared discrepancy %.3g, random %.3g, ratio %.3f", tt.dim, tt.n, mean, random, random/mean)
		if !(mean*tt.factor < random) {
			t.Errorf("dim %d, %d points: squared discrepancy %.3g, random %.3g", tt.dim, tt.n, mean, random)
		}
		if tt.dim > 8 {
			continue
		}
		const reps = 16
		var sum, sq float64
		for range reps {
			pts := make([]float64, tt.n*tt.dim)
			fill(New(tt.dim, rng), pts)
			dev := starL2(pts, tt.n, tt.dim) - mean
			sum += dev / reps
			sq += dev * dev / reps
		}
		if se := math.Sqrt((sq - sum*sum) / (reps - 1)); !(math.Abs(sum) < 6*se) {
			t.Errorf("dim %d, %d points: sampled squared discrepancy off by %.3g, standard error %.3g", tt.dim, tt.n, sum, se)
		}
	}

	const dim, n = 20, 512
	s := unscrambled(dim)
	var sum float64
	for a := range dim {
		for b := range a {
			sum += meanStarL2(s, n, a, b)
		}
	}
	mean, random := sum/(dim*(dim-1)/2), (1.0/4-1.0/9)/n
	t.Logf("pairs in dim %d, %d points: squared discrepancy %.3g, random %.3g, ratio %.1f", dim, n, mean, random, random/mean)
	if !(mean*40 < random) {
		t.Errorf("pairs in dim %d, %d points: squared discrepancy %.3g, random %.3g", dim, n, mean, random)
	}
}

// meanStarL2 returns the mean over scramblings of the squared L2 star discrepancy
// of the first n points, n a power of two, in the given coordinates of the plain
// sequence s. In the formula of starL2 points have the mean of 1 − x² equal to
// 2/3. Two numbers with r leading digits in common and the next different, random
// otherwise, have the mean of 1 − max equal to 1/2 − 2^-(r+2); and the scrambled
// digits of two points agree as far as those of the sum modulo 2 of the plain ones
// are 0, which again is one of the n points.
func meanStarL2(s *Sobol, n int, coords ...int) float64 {
	d := float64(len(coords))
	sum := math.Pow(2, -d) // a point with itself
	for i := 1; i < n; i++ {
		p := 1.0
		for _, j := range coords {
			var x uint64
			for k := range bits.Len(uint(i)) {
				x ^= s.v[k*len(s.x)+j] * uint64(i>>k&1)
			}
			r := digits - bits.Len64(x)
			p *= 0.5 - math.Ldexp(1, -r-2)
		}
		sum += p
	}
	return sum/float64(n) - math.Pow(3, -d)
}

// starL2 returns the squared L2 star discrepancy by the formula of T. T. Warnock
// (1972).
func starL2(pts []float64, n, dim int) float64 {
	var one, two float64
	for i := range n {
		x := pts[i*dim : i*dim+dim]
		p := 1.0
		for _, v := range x {
			p *= 1 - v*v
		}
		one += p
		for k := range n {
			y := pts[k*dim : k*dim+dim]
			q := 1.0
			for j, v := range x {
				q *= 1 - max(v, y[j])
			}
			two += q
		}
	}
	d, fn := float64(dim), float64(n)
	return math.Pow(3, -d) - math.Pow(2, 1-d)/fn*one + two/(fn*fn)
}

func TestDeterministic(t *testing.T) {
	a, b := New(MaxDim+2, testutil.RNG(t)), New(MaxDim+2, testutil.RNG(t))
	x, y := make([]float64, 3*a.dim), make([]float64, a.dim)
	fill(a, x)
	for i := range 3 {
		b.Next(y)
		for j, v := range y {
			if v != x[i*a.dim+j] {
				t.Fatalf("point %d differs in coordinate %d", i, j)
			}
		}
	}
	// The source advances by an amount that depends on the dimension only.
	r, q := testutil.RNG(t), testutil.RNG(t)
	New(3, r).Next(make([]float64, 3))
	New(3, q)
	if r.Uint64() != q.Uint64() {
		t.Error("drawing points reads the source")
	}
}

// TestBeyondMaxDim: points of coordinates without direction numbers are uniform, and not like those
// of any other coordinate. 6 standard errors of moments and correlations.
func TestBeyondMaxDim(t *testing.T) {
	const n = 4096
	s := New(MaxDim+2, testutil.RNG(t))
	pts := make([]float64, n*s.dim)
	fill(s, pts)
	for j := MaxDim; j < s.dim; j++ {
		var second float64
		product := make([]float64, s.dim)
		for i := range n {
			row := pts[i*s.dim : (i+1)*s.dim]
			v := row[j] - 0.5
			second += v * v / n
			for k, u := range row[:j] {
				product[k] += v * (u - 0.5) / n
			}
			product[j] += v / n
		}
		if se := math.Sqrt(1.0 / 180 / n); math.Abs(second-1.0/12) > 6*se {
			t.Errorf("variance of coordinate %d: %.4f", j, second)
		}
		for k, v := range product[:j+1] {
			if se := math.Sqrt(1.0 / 144 / n); k < j && math.Abs(v) > 6*se || k == j && math.Abs(v) > 6*math.Sqrt(1.0/12/n) {
				t.Errorf("coordinates %d and %d: %.5f", j, k, v)
			}
		}
	}
}

func TestShapes(t *testing.T) {
	for name, f := range map[string]func(){
		"dimension":  func() { New(0, testutil.RNG(t)) },
		"Next":       func() { New(3, testutil.RNG(t)).Next(make([]float64, 2)) },
		"exhaustion": func() { s := New(1, testutil.RNG(t)); s.n = 1 << digits; s.Next(make([]float64, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
	s := New(2, testutil.RNG(t))
	s.n = 1<<digits - 1
	s.Next(make([]float64, 2)) // the last point
}

func TestAllocations(t *testing.T) {
	s, x := New(MaxDim+4, testutil.RNG(t)), make([]float64, MaxDim+4)
	testutil.ZeroAlloc(t, func() { s.Next(x) })
}
