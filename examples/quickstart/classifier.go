package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// kernelNames are the kernels of the classifier, in the order of the search space's choices.
var kernelNames = []string{"rbf", "laplacian", "polynomial", "linear"}

// A config is one setting of the classifier's hyper-parameters.
type config struct {
	lambda float64 // strength of the ridge, in units of the kernel's mean diagonal
	width  float64 // unit of length in which the kernel sees the features
	kernel string  // one of kernelNames
	degree int     // of the polynomial kernel; the others ignore it
}

// A classifier is kernel ridge regression of class indicators, one class
// against the rest (a least-squares support vector machine):
//
//	α = (K + 1·s + λ·s·I)⁻¹·T,  s = mean diagonal of K,
//
// with T_ic = ±1 for points inside and outside of class c; a new point gets the class of the
// largest (k(x) + s)ᵀ·α_c. The constant s added to the kernel stands for an intercept. It holds the
// memory of its computations and serves one goroutine at a time.
type classifier struct {
	gram    linalg.Sym
	sub     linalg.Sym
	cross   linalg.Dense
	targets linalg.Dense
	scores  linalg.Dense
	chol    linalg.Cholesky
}

// A folded is a data set with what all configurations share: the products and
// distances of its points and its division into folds.
type folded struct {
	*dataset
	dot  linalg.Sym // products of points
	dist linalg.Sym // squared Euclidean distances
	city linalg.Sym // city-block distances
	fold []int      // fold of each point
	held [][]int    // points of each fold
	kept [][]int    // the others
}

// numFolds is the number of parts of the cross-validation.
const numFolds = 4

// newFolded prepares a data set for cross-validation. Every fold gets its share of every class.
func newFolded(d *dataset, seed uint64) *folded {
	n, _ := d.x.Dims()
	f := &folded{dataset: d, fold: make([]int, n)}
	f.dot.Gram(d.x)
	f.dist.Resize(n)
	f.city.Resize(n)
	for i := range n {
		a := d.x.Row(i)
		for j := range i + 1 {
			b := d.x.Row(j)
			var city float64
			for k := range a {
				city += math.Abs(a[k] - b[k])
			}
			f.dist.Set(i, j, linalg.SqDist(a, b))
			f.city.Set(i, j, city)
		}
	}
	next := 0
	order := rng.Stream(seed, "folds of "+d.name).Perm(n)
	for c := range d.classes {
		for _, i := range order {
			if d.y[i] == c {
				f.fold[i] = next % numFolds
				next++
			}
		}
	}
	f.held, f.kept = make([][]int, numFolds), make([][]int, numFolds)
	for i, k := range f.fold {
		for j := range numFolds {
			if j == k {
				f.held[j] = append(f.held[j], i)
			} else {
				f.kept[j] = append(f.kept[j], i)
			}
		}
	}
	return f
}

// accuracy trains the classifier on all folds but one and tests it on that one, for each fold in
// turn, and returns the share of points that got their class.
func (c *classifier) accuracy(f *folded, cfg config) (float64, error) {
	scale, err := c.fillGram(f, cfg)
	if err != nil {
		return 0, err
	}
	right := 0
	for k := range numFolds {
		train, test := f.kept[k], f.held[k]
		c.sub.Subset(&c.gram, train)
		c.sub.AddDiag(cfg.lambda * scale)
		if _, err := c.chol.FactorizeJitter(&c.sub, 1e-4); err != nil {
			return 0, fmt.Errorf("training on %s with %v: %w", f.name, cfg, err)
		}
		c.targets.Resize(len(train), f.classes)
		for i, p := range train {
			row := c.targets.Row(i)
			for j := range row {
				row[j] = -1
			}
			row[f.y[p]] = 1
		}
		c.chol.SolveTo(&c.targets, &c.targets)
		c.cross.Resize(len(test), len(train))
		for i, p := range test {
			row, from := c.cross.Row(i), c.gram.Row(p)
			for j, q := range train {
				row[j] = from[q]
			}
		}
		c.scores.Mul(&c.cross, &c.targets)
		for i, p := range test {
			if s := c.scores.Row(i); slices.Index(s, slices.Max(s)) == f.y[p] {
				right++
			}
		}
	}
	return float64(right) / float64(len(f.y)), nil
}

// fillGram computes the kernel matrix of all points, intercept included, and returns its scale before that was added.
func (c *classifier) fillGram(f *folded, cfg config) (scale float64, err error) {
	w := 1 / cfg.width
	var value func(dot, dist, city float64) float64
	switch cfg.kernel {
	case "rbf":
		value = func(_, dist, _ float64) float64 { return math.Exp(-0.5 * w * w * dist) }
	case "laplacian":
		value = func(_, _, city float64) float64 { return math.Exp(-w * city) }
	case "polynomial":
		value = func(dot, _, _ float64) float64 { return power(1+w*w*dot, cfg.degree) }
	case "linear":
		value = func(dot, _, _ float64) float64 { return w * w * dot }
	default:
		return 0, fmt.Errorf("no kernel %q", cfg.kernel)
	}
	n := len(f.y)
	c.gram.Resize(n)
	for i := range n {
		row, dot, dist, city := c.gram.Row(i)[:i+1], f.dot.Row(i), f.dist.Row(i), f.city.Row(i)
		for j := range row {
			row[j] = value(dot[j], dist[j], city[j])
		}
	}
	c.gram.Mirror()
	scale = c.gram.Trace() / float64(n)
	for i := range n {
		row := c.gram.Row(i)
		for j := range row {
			row[j] += scale
		}
	}
	return scale, nil
}

// power is x to a small whole exponent.
func power(x float64, n int) float64 {
	p := 1.0
	for range n {
		p *= x
	}
	return p
}
