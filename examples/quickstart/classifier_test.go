package main

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// solve returns a⁻¹·b by Gaussian elimination with partial pivoting, in place.
func solve(t *testing.T, a [][]float64, b []float64) []float64 {
	t.Helper()
	n := len(a)
	for k := range n {
		p := k
		for i := k; i < n; i++ {
			if math.Abs(a[i][k]) > math.Abs(a[p][k]) {
				p = i
			}
		}
		a[k], a[p], b[k], b[p] = a[p], a[k], b[p], b[k]
		if a[k][k] == 0 {
			t.Fatal("singular")
		}
		for i := k + 1; i < n; i++ {
			f := a[i][k] / a[k][k]
			for j := k; j < n; j++ {
				a[i][j] -= f * a[k][j]
			}
			b[i] -= f * b[k]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for j := i + 1; j < n; j++ {
			b[i] -= a[i][j] * b[j]
		}
		b[i] /= a[i][i]
	}
	return b
}

// kernelValue is the kernel of a config written from its definition.
func kernelValue(c config, x, z []float64) float64 {
	var dot, square, city float64
	for i := range x {
		dot += x[i] * z[i]
		square += (x[i] - z[i]) * (x[i] - z[i])
		city += math.Abs(x[i] - z[i])
	}
	switch c.kernel {
	case "rbf":
		return math.Exp(-square / (2 * c.width * c.width))
	case "laplacian":
		return math.Exp(-city / c.width)
	case "polynomial":
		return math.Pow(1+dot/(c.width*c.width), float64(c.degree))
	}
	return dot / (c.width * c.width)
}

var someConfigs = []config{
	{0.1, 0.5, "rbf", 1}, {0.01, 1, "rbf", 3}, {0.3, 0.7, "laplacian", 1},
	{0.05, 1.5, "polynomial", 3}, {1, 2, "polynomial", 2}, {0.2, 1, "linear", 1},
}

func TestClassifierAgreesWithDirectSolve(t *testing.T) {
	var model classifier
	for _, r := range []recipe{pastRecipes[2], pastRecipes[7], newRecipes[5]} {
		r.points = 60
		f := newFolded(r.generate(3), 3)
		for _, c := range someConfigs {
			got, err := model.accuracy(f, c)
			if err != nil {
				t.Fatal(err)
			}
			n := len(f.y)
			var scale float64
			for i := range n {
				scale += kernelValue(c, f.x.Row(i), f.x.Row(i)) / float64(n)
			}
			right := 0
			for k := range numFolds {
				train := f.kept[k]
				scores := make([][]float64, len(f.held[k]))
				for class := range f.classes {
					a, b := make([][]float64, len(train)), make([]float64, len(train))
					for i, p := range train {
						a[i] = make([]float64, len(train))
						for j, q := range train {
							a[i][j] = kernelValue(c, f.x.Row(p), f.x.Row(q)) + scale
						}
						a[i][i] += c.lambda * scale
						b[i] = -1
						if f.y[p] == class {
							b[i] = 1
						}
					}
					alpha := solve(t, a, b)
					for i, p := range f.held[k] {
						var s float64
						for j, q := range train {
							s += alpha[j] * (kernelValue(c, f.x.Row(p), f.x.Row(q)) + scale)
						}
						scores[i] = append(scores[i], s)
					}
				}
				for i, p := range f.held[k] {
					if slices.Index(scores[i], slices.Max(scores[i])) == f.y[p] {
						right++
					}
					if k < numFolds-1 {
						continue
					}
					// The classifier still holds the scores of the last fold. The
					// system's condition number is below n·max k/(λ·s) < 1e6 here.
					for class, want := range scores[i] {
						if s := model.scores.At(i, class); math.Abs(s-want) > 1e6*testutil.Gamma(n)*(1+math.Abs(want)) {
							t.Errorf("%s, %v: score of point %d for class %d is %g, want %g", r.name, c, p, class, s, want)
						}
					}
				}
			}
			if want := float64(right) / float64(n); got != want {
				t.Errorf("%s, %v: accuracy %g, want %g", r.name, c, got, want)
			}
		}
	}
}

func TestFoldsPartition(t *testing.T) {
	for _, r := range slices.Concat(pastRecipes, newRecipes) {
		f := newFolded(r.generate(1), 1)
		n := len(f.y)
		times := make([]int, n)
		for k := range numFolds {
			if len(f.held[k])+len(f.kept[k]) != n {
				t.Errorf("%s: fold %d has %d and %d of %d points", r.name, k, len(f.held[k]), len(f.kept[k]), n)
			}
			for _, i := range f.held[k] {
				times[i]++
				if slices.Contains(f.kept[k], i) {
					t.Errorf("%s: point %d is tested on a model it trained", r.name, i)
				}
			}
		}
		for i, v := range times {
			if v != 1 {
				t.Errorf("%s: point %d is tested %d times", r.name, i, v)
			}
		}
		for class := range f.classes {
			var inFold [numFolds]int
			for i, y := range f.y {
				if y == class {
					inFold[f.fold[i]]++
				}
			}
			if slices.Max(inFold[:])-slices.Min(inFold[:]) > 1 {
				t.Errorf("%s: class %d is spread %v over the folds", r.name, class, inFold)
			}
		}
	}
}

func TestEasyDataAreLearned(t *testing.T) {
	tests := []struct {
		name   string
		recipe recipe
		c      config
		least  float64
		most   float64
	}{
		{"blobs far apart", recipe{"b", "blobs", 120, 4, 0.05, 0, 0}, config{0.01, 1, "rbf", 1}, 0.99, 1},
		{"clean moons", recipe{"m", "moons", 160, 0, 0.05, 0, 0}, config{0.01, 0.5, "rbf", 1}, 0.99, 1},
		{"clean circles", recipe{"c", "circles", 160, 0.5, 0.05, 0, 0}, config{0.01, 0.5, "laplacian", 1}, 0.99, 1},
		{"circles are quadratic", recipe{"c", "circles", 160, 0.5, 0.05, 0, 0}, config{0.01, 1, "polynomial", 2}, 0.99, 1},
		{"circles are not linear", recipe{"c", "circles", 160, 0.5, 0.05, 0, 0}, config{0.01, 1, "linear", 1}, 0, 0.65},
		{"a plane is linear", recipe{"p", "plane", 200, 0, 0, 2, 0}, config{0.01, 1, "linear", 1}, 0.9, 1},
		{"wrong labels cannot be learned", recipe{"f", "moons", 200, 0, 0.05, 0, 0.5}, config{0.01, 0.5, "rbf", 1}, 0.3, 0.7},
	}
	var model classifier
	for _, tt := range tests {
		a, err := model.accuracy(newFolded(tt.recipe.generate(1), 1), tt.c)
		if err != nil {
			t.Fatal(err)
		}
		if !(a >= tt.least && a <= tt.most) {
			t.Errorf("%s: accuracy %.3f is not in [%g, %g]", tt.name, a, tt.least, tt.most)
		}
	}
}

// TestEveryCornerOfTheSpaceTrains: no setting makes the training fail.
func TestEveryCornerOfTheSpaceTrains(t *testing.T) {
	var model classifier
	f := newFolded(newRecipes[0].generate(1), 1)
	for _, lambda := range []float64{1e-6, 1e2} {
		for _, width := range []float64{0.02, 20} {
			for _, kernel := range kernelNames {
				for _, degree := range []int{1, 5} {
					c := config{lambda, width, kernel, degree}
					a, err := model.accuracy(f, c)
					if err != nil || !(a >= 0 && a <= 1) {
						t.Errorf("%v: accuracy %g, error %v", c, a, err)
					}
				}
			}
		}
	}
	if _, err := model.accuracy(f, config{1, 1, "cosine", 1}); err == nil {
		t.Error("an unknown kernel trains")
	}
}

func TestGeneratorsAreDeterministic(t *testing.T) {
	names := map[string]bool{}
	for _, r := range slices.Concat(pastRecipes, newRecipes) {
		if names[r.name] {
			t.Errorf("two data sets are called %q", r.name)
		}
		names[r.name] = true
		a, b, c := r.generate(5), r.generate(5), r.generate(6)
		n, d := a.x.Dims()
		if n != r.points || d != 2+r.irrelevant || len(a.y) != n {
			t.Fatalf("%s: %d×%d points and %d labels", r.name, n, d, len(a.y))
		}
		same := slices.Equal(a.y, b.y)
		differs := false
		seen := make([]int, a.classes)
		for i := range n {
			same = same && slices.Equal(a.x.Row(i), b.x.Row(i))
			differs = differs || !slices.Equal(a.x.Row(i), c.x.Row(i))
			seen[a.y[i]]++
			for _, v := range a.x.Row(i) {
				if math.IsNaN(v) || math.Abs(v) > 20 {
					t.Fatalf("%s: feature %g", r.name, v)
				}
			}
		}
		if !same || !differs {
			t.Errorf("%s: equal seeds agree: %v, other seeds differ: %v", r.name, same, differs)
		}
		if slices.Min(seen)*a.classes*4 < n {
			t.Errorf("%s: classes of %v points", r.name, seen)
		}
	}
}

func TestRandomRows(t *testing.T) {
	space, err := newSpace()
	if err != nil {
		t.Fatal(err)
	}
	g := rng.Stream(1, "test")
	degrees, kernels := make([]int, 6), map[string]int{}
	const n = 4000
	below := 0
	for range n {
		row := randomRow(space, g)
		if err := space.Check(row); err != nil {
			t.Fatal(err)
		}
		c := configOf(row)
		degrees[c.degree]++
		kernels[c.kernel]++
		if c.lambda < 1e-2 { // the middle of the logarithmic axis
			below++
		}
	}
	// Binomial counts lie within five standard deviations of their means.
	check := func(what string, got int, p float64) {
		if math.Abs(float64(got)-n*p) > 5*math.Sqrt(n*p*(1-p)) {
			t.Errorf("%s: %d of %d, want about %g", what, got, n, n*p)
		}
	}
	for d := 1; d <= 5; d++ {
		check("a degree", degrees[d], 0.2)
	}
	for _, k := range kernelNames {
		check(k, kernels[k], 0.25)
	}
	check("small lambdas", below, 0.5)
}

func BenchmarkAccuracy(b *testing.B) {
	var model classifier
	f := newFolded(newRecipes[0].generate(1), 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := model.accuracy(f, config{0.01, 0.5, "rbf", 1}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "settings/s")
}

// TestAccuracyReusesItsMemory: the search for good settings does not pay for
// allocations.
func TestAccuracyReusesItsMemory(t *testing.T) {
	var model classifier
	r := newRecipes[0]
	r.points = 40
	f := newFolded(r.generate(1), 1)
	testutil.ZeroAlloc(t, func() {
		if _, err := model.accuracy(f, config{0.01, 0.5, "rbf", 1}); err != nil {
			t.Fatal(err)
		}
	})
}
