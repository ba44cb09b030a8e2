package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A row is one line of the table: a kind of work on inputs, and what is asked of
// it. Answers have to agree to tol times the largest of them.
type row struct {
	name   string
	size   string
	kind   string
	inputs func() *inputs
	tol    float64
	// flop is what the work takes, 0 if that says nothing.
	flop   float64
	checks []check
}

// A check is a target. Exactly one of most, least and under is set.
type check struct {
	build   string  // "default" or "accelerated"
	against string  // a prefix of form names: the fastest of them
	most    float64 // our time over theirs is at most this
	least   float64 // their time over ours is at least this
	under   float64 // our time is under this, in seconds
}

func atMost(build string, ratio float64, against string) check {
	return check{build: build, against: against, most: ratio}
}

func atLeast(build string, factor float64, against string) check {
	return check{build: build, against: against, least: factor}
}

func under(build string, ms float64) check { return check{build: build, under: ms / 1e3} }

const (
	def = "default"
	acc = "accelerated"
)

// rows is the table.
func rows() []row {
	var out []row
	add := func(r row) { out = append(out, r) }
	at := func(n, small, large int) bool { return n == small || n == large }
	for _, n := range []int{50, 100, 300, 1000} {
		r := row{name: "matrix product", kind: "gemm", tol: 1e-13, inputs: func() *inputs { return pair(n) },
			flop: 2 * cube(n), checks: []check{atMost(def, 1, "gonum"), atMost(acc, 1.05, "numpy")}}
		if n >= 100 {
			r.checks = append(r.checks, atLeast(acc, 0.85, "peak"))
		}
		add(sized(r, n))
	}
	// Targets are for 100 and 300; the other sizes show the trend.
	linear := []struct {
		name, kind string
		flops      float64
		accel      float64
	}{
		{"Cholesky", "cholesky", 1. / 3, 0.6},
		{"SPD inverse", "inverse", 1, 0.6},
		{"solve, n right-hand sides", "solve", 2, 0.6},
		{"solve, one right-hand side", "solvevec", 0, 0.6},
	}
	for _, l := range linear {
		for _, n := range []int{50, 100, 300, 1000} {
			r := row{name: l.name, kind: l.kind, tol: 1e-11, inputs: func() *inputs { return spd(n) }, flop: l.flops * cube(n)}
			if at(n, 100, 300) {
				r.checks = []check{atMost(def, 1, "gonum mat"), atMost(acc, l.accel, "numpy")}
			}
			add(sized(r, n))
		}
	}
	for _, e := range []struct {
		name, kind string
		flops      float64
	}{{"eigenvalues", "eigvals", 4. / 3}, {"eigenvectors", "eigh", 0}} {
		for _, n := range []int{50, 100, 300, 1000} {
			r := row{name: "symmetric " + e.name, kind: e.kind, tol: 1e-11, inputs: func() *inputs { return spd(n) },
				flop: e.flops * cube(n)}
			if at(n, 100, 300) {
				r.checks = []check{atMost(def, 0.8, "gonum"), atMost(acc, 1, "numpy")}
			}
			add(sized(r, n))
		}
	}
	for _, n := range []int{50, 100, 300, 1000} {
		r := row{name: "SPD square root", kind: "sqrt", tol: 1e-11, inputs: func() *inputs { return spd(n) }}
		if at(n, 100, 300) {
			limit := map[int]float64{100: 0.25, 300: 0.4}[n]
			r.checks = []check{atMost(def, 0.6, "gonum"), atMost(acc, limit, "numpy eigh")}
		}
		add(sized(r, n))
	}
	for _, n := range []int{50, 100, 300, 1000} {
		// The tolerance allows for the digits that the eigenvalue forms lose.
		r := row{name: "W2 of a pair, factors kept", kind: "w2",
			tol: 1e-9, inputs: func() *inputs { return posteriors(n, 2, 55) }, flop: 10. / 3 * cube(n)}
		if at(n, 100, 300) {
			limit := map[int]float64{100: 0.35, 300: 0.65}[n]
			r.checks = []check{atMost(def, 0.75, "gonum"), atMost(acc, limit, "numpy")}
		}
		add(sized(r, n))
	}
	add(row{name: "W2 clustering iteration", size: "K=60 C=4 n=100", kind: "cluster", tol: 1e-9,
		inputs: func() *inputs {
			in := posteriors(100, 60, 45)
			in.Params["clusters"] = 4
			return in
		},
		checks: []check{atMost(def, 0.15, "numpy textbook"), atMost(def, 1.5, "numpy"), atMost(acc, 0.35, "numpy")}})
	add(row{name: "barycentre to 1e-10", size: "20 members, n=100", kind: "barycentre", tol: 1e-8,
		inputs: func() *inputs { return posteriors(100, 20, 45) },
		checks: []check{atMost(def, 1, "numpy Cholesky-eigh"), atMost(acc, 0.3, "numpy Cholesky-eigh")}})
	// With one prototype, as targets were set, and with four, which share the
	// factor and the inverse of the new posterior.
	for _, c := range []int{1, 4} {
		size := fmt.Sprintf("300 points, C=%d", c)
		online := func() *inputs {
			in := posteriors(300, c+1, 55)
			in.Params["jitter"] = 1e-6
			return in
		}
		add(row{name: "online W2, per prototype", size: size, kind: "online-w2", tol: 1e-9, inputs: online,
			checks: []check{atMost(def, 4, "numpy"), atMost(acc, 0.7, "numpy")}})
		add(row{name: "online Jeffreys, per prototype", size: size, kind: "online-jeffreys", tol: 1e-7, inputs: online,
			checks: []check{atMost(def, 1.2, "numpy"), atMost(acc, 0.25, "numpy")}})
	}
	for _, d := range []int{2, 6} {
		add(row{name: "GP posterior with covariance", size: fmt.Sprintf("55 obs, 300 points, d=%d", d), kind: "posterior",
			tol:    1e-9,
			inputs: func() *inputs { return regression(55, 300, d, false) },
			checks: []check{atMost(def, 1.3, "sklearn"), atMost(acc, 0.35, "sklearn")}})
	}
	for _, ard := range []bool{false, true} {
		add(row{name: "LML + gradient", size: map[bool]string{false: "50 obs, d=6, one length", true: "50 obs, d=6, a length each"}[ard],
			kind: "likelihood", tol: 1e-9, inputs: func() *inputs { return regression(50, 1, 6, ard) },
			checks: []check{atMost(def, 0.25, "sklearn"), atMost(acc, 0.12, "sklearn")}})
	}
	history := func() *inputs { return histories(60, 50, 6) }
	add(row{name: "Learn, all stages", size: "60 tasks x 50 obs, d=6", kind: "learn", inputs: history,
		checks: []check{atLeast(def, 10, "sklearn")}})
	add(row{name: "Learn, two goroutines against one", size: "60 tasks x 50 obs, d=6", kind: "goroutines", inputs: history,
		checks: []check{atLeast(def, 1.8, "ours 1"), atLeast(acc, 1.8, "ours 1")}})
	add(row{name: "Ask+Tell, W2, 99th percentile", size: "300 candidates, 50 observed, C=4", kind: "asktell-w2",
		inputs: history,
		checks: []check{under(def, 45), under(acc, 10)}})
	add(row{name: "Ask+Tell, Jeffreys, 99th percentile", size: "300 candidates, 50 observed, C=4",
		kind: "asktell-jeffreys", inputs: history,
		checks: []check{under(def, 12), under(acc, 4)}})
	return out
}

func sized(r row, n int) row {
	r.size = fmt.Sprintf("n=%d", n)
	return r
}

func cube(n int) float64 { return float64(n) * float64(n) * float64(n) }

func gaussianNumbers(r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = r.NormFloat64()
	}
	return out
}

func uniform(r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = r.Float64()
	}
	return out
}

// pair is two matrices of normal numbers.
func pair(n int) *inputs {
	r, in := rand.New(rand.NewPCG(1, uint64(n))), newInputs()
	in.Params["n"] = float64(n)
	in.add("a", gaussianNumbers(r, n*n), n, n)
	in.add("b", gaussianNumbers(r, n*n), n, n)
	return in
}

// spd is A·Aᵀ/n + I/10 of normal numbers: well-conditioned, its eigenvalues
// spread, so that divide and conquer deflates nothing.
func spd(n int) *inputs {
	r, in := rand.New(rand.NewPCG(2, uint64(n))), newInputs()
	in.Params["n"] = float64(n)
	var s linalg.Sym
	s.Gram(linalg.NewDense(n, n, gaussianNumbers(r, n*n)))
	s.Scale(1 / float64(n))
	s.AddDiag(0.1)
	in.add("s", symData(&s), n, n)
	in.add("b", gaussianNumbers(r, n*n), n, n)
	in.add("v", gaussianNumbers(r, n), n)
	return in
}

// posteriors are k Gaussian process posteriors on a grid of n points, in four
// loose groups by length scale, each from its own observations; 1e-6 is on the
// diagonals.
func posteriors(n, k, obs int) *inputs {
	side := map[int][2]int{50: {10, 5}, 100: {10, 10}, 300: {20, 15}, 1000: {40, 25}}[n]
	grid := linalg.NewDense(n, 2, nil)
	for i := range side[0] {
		for j := range side[1] {
			grid.Set(i*side[1]+j, 0, float64(i)/float64(side[0]-1))
			grid.Set(i*side[1]+j, 1, float64(j)/float64(side[1]-1))
		}
	}
	base := [4][2]float64{{.25, .3}, {.5, .2}, {.2, .7}, {.6, .6}}
	in := newInputs()
	in.Params["n"] = float64(n)
	var means, covs []float64
	for j := range k {
		r := rand.New(rand.NewPCG(3, uint64(j)))
		l := base[j%4]
		ker := kernel.Matern32(l[0]*math.Exp(0.1*r.NormFloat64()), l[1]*math.Exp(0.1*r.NormFloat64()))
		m := obs
		if k > 5 {
			m += r.IntN(21) - 10
		}
		x := linalg.NewDense(m, 2, uniform(r, 2*m))
		y := make([]float64, m)
		for i := range y {
			p := x.Row(i)
			y[i] = math.Sin(5*p[0]+float64(j)) + math.Cos(4*p[1]*(1+0.1*float64(j%7)))
		}
		mean := make([]float64, n)
		var s linalg.Sym
		newPosterior(ker, 1e-4, x, y)(mean, &s, grid)
		s.AddDiag(1e-6)
		means = append(means, mean...)
		covs = append(covs, symData(&s)...)
	}
	in.add("means", means, k, n)
	in.add("covs", covs, k, n, n)
	return in
}

// regression is a data set with points to predict at.
func regression(obs, points, d int, ard bool) *inputs {
	r, in := rand.New(rand.NewPCG(4, uint64(d))), newInputs()
	x := uniform(r, obs*d)
	y := make([]float64, obs)
	for i := range y {
		var s float64
		for _, v := range x[i*d : (i+1)*d] {
			s += v
		}
		y[i] = math.Sin(3*s) + 0.01*r.NormFloat64()
	}
	in.add("x", x, obs, d)
	in.add("y", y, obs)
	in.add("z", uniform(r, points*d), points, d)
	lengths := []float64{0.5}
	if ard {
		lengths = nil
		for i := range d {
			lengths = append(lengths, 0.4+0.1*float64(i))
		}
	}
	in.add("lengths", lengths, len(lengths))
	in.Params["length"], in.Params["noise"] = 0.4, 1e-2
	return in
}

// histories are k tuning histories with n observations in d coordinates, of four
// kinds, and a list of 300 candidates.
func histories(k, n, d int) *inputs {
	in := newInputs()
	var xs, ys []float64
	for j := range k {
		x, y := history(j, n, d)
		xs, ys = append(xs, x...), append(ys, y...)
	}
	in.add("x", xs, k, n, d)
	in.add("y", ys, k, n)
	in.add("candidates", uniform(rand.New(rand.NewPCG(17, 1<<32)), 300*d), 300, d)
	return in
}

// history is the one of task j: a smooth hill with a little noise.
func history(j, n, d int) (x, y []float64) {
	r := rand.New(rand.NewPCG(17, uint64(j)))
	c := make([]float64, d)
	for i := range c {
		c[i] = 0.2 + 0.6*float64((j%4+i)%4)/3 + 0.05*r.NormFloat64()
	}
	for range n {
		v := 0.02 * r.NormFloat64()
		for i := range d {
			u := r.Float64()
			x = append(x, u)
			v += math.Cos(2*(u-c[i])) / float64(1+i)
		}
		y = append(y, v)
	}
	return x, y
}
