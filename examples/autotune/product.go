package main

import (
	"fmt"
	"math"
	"time"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// shape is a product of an m×k and a k×n matrix, whose operands are stored as they are or
// transposed.
type shape struct {
	form    int // index of forms
	m, n, k int
}

var forms = []string{"A·B", "A·Bᵀ", "Aᵀ·B"}

func (s shape) String() string { return fmt.Sprintf("%s %d×%d×%d", forms[s.form], s.m, s.k, s.n) }

// work is about the number of multiplications of a product: few enough for one goroutine
// and for a time slice of the operating system.
const work = 3e6

// drawShape draws the i-th shape of a kind.
func drawShape(seed uint64, kind string, i int) shape {
	r := rng.Stream(seed, "autotune shape: "+kind, uint64(i))
	size := func(lo, hi float64) int { return int(lo * math.Pow(hi/lo, r.Float64())) }
	s := shape{form: r.IntN(len(forms)), m: size(20, 600), n: size(20, 600)}
	s.k = min(max(int(work/float64(s.m)/float64(s.n)), 20), 5000)
	return s
}

// product is a product to be measured.
type product struct {
	shape   shape
	run     func()
	now     func() time.Time
	longest time.Duration // that a measurement may take once it has a few times
}

func newProduct(s shape) *product {
	r := rng.Stream(1, "autotune entries")
	random := func(rows, cols int) *linalg.Dense {
		m := linalg.NewDense(rows, cols, nil)
		for i := range rows {
			for j := range cols {
				m.Set(i, j, r.NormFloat64())
			}
		}
		return m
	}
	var c linalg.Dense
	p := &product{shape: s, now: time.Now, longest: 10 * time.Millisecond}
	switch s.form {
	case 0:
		a, b := random(s.m, s.k), random(s.k, s.n)
		p.run = func() { c.Mul(a, b) }
	case 1:
		a, b := random(s.m, s.k), random(s.n, s.k)
		p.run = func() { c.MulTrans(a, b) }
	default:
		a, b := random(s.k, s.m), random(s.k, s.n)
		p.run = func() { c.TransMul(a, b) }
	}
	return p
}

// measured is a measurement: block sizes of the inner dimension, rows and columns, and the
// seconds a product took.
type measured struct {
	blocks  [3]int
	seconds float64
}

// ownBlocks returns the block sizes that the module has.
func ownBlocks() [3]int {
	m, n, k := f64.GemmBlocks()
	return [3]int{k, m, n}
}

// measure times the product with block sizes: the least of three times, or of as many as
// fit in 10 ms. What else the machine does makes times longer, never shorter.
func (p *product) measure(blocks [3]int) measured {
	defer f64.SetGemmBlocks(blocks[1], blocks[2], blocks[0])()
	p.run() // caches and buffers
	m := measured{blocks: blocks, seconds: math.Inf(1)}
	began := p.now()
	for i := 0; i < 3 || p.now().Sub(began) < p.longest; i++ {
		start := p.now()
		p.run()
		m.seconds = min(m.seconds, p.now().Sub(start).Seconds())
	}
	// A clock that stands still between two looks measured less than its step.
	m.seconds = max(m.seconds, 1e-9)
	return m
}
