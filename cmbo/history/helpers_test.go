package history_test

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

func spaceOf(t testing.TB, params ...cmbo.Param) *cmbo.Space {
	t.Helper()
	s, err := cmbo.NewSpace(params...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mustRead returns what a description reads.
func mustRead[R any](tb testing.TB, of interface{ Read(r io.Reader) (R, error) }, r io.Reader) R {
	tb.Helper()
	got, err := of.Read(r)
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

// mixed is a space with a parameter of every kind and awkward names.
func mixed(tb testing.TB) *cmbo.Space {
	tb.Helper()
	return spaceOf(tb,
		cmbo.LogFloat("lr", 1e-5, 1),
		cmbo.Float("mo,mentum \"β\"", -1e300, 1e300),
		cmbo.Int("depth", -3, 1<<31-1),
		cmbo.LogInt("batch", 1, 1024),
		cmbo.Categorical("kernel", "rbf", "poly, 3", " poly", "say \"hi\"", "two\nlines", "", "null", "<3>", "\u2028"),
		cmbo.Bool("bias"),
	)
}

// small is the space of most tables of rows.
func small(tb testing.TB) *cmbo.Space {
	tb.Helper()
	return spaceOf(tb,
		cmbo.LogFloat("lr", 1e-5, 1),
		cmbo.Int("depth", 1, 12),
		cmbo.Categorical("kernel", "rbf", "poly", "16"),
		cmbo.Bool("bias"),
	)
}

// randomTasks draws tasks whose points, values and variances have all their
// digits, with extremes among them.
func randomTasks(rng *rand.Rand, s *cmbo.Space, tasks, most int) []cmbo.Task {
	var out []cmbo.Task
	ids := []string{"a", "svm on iris", "1", "in  side", "comma, \"quote\"", "line\nbreak", "π", "-", "NaN"}
	for i := range tasks {
		t := cmbo.Task{ID: ids[i%len(ids)] + strings.Repeat("+", i/len(ids))}
		n := 1 + rng.IntN(most)
		noisy := rng.IntN(2) == 0
		for range n {
			var x []float64
			for _, p := range s.Params() {
				lo, hi := p.Bounds()
				v := lo + rng.Float64()*(hi-lo)
				if math.IsInf(hi-lo, 0) || rng.IntN(8) == 0 {
					v = []float64{lo, hi}[rng.IntN(2)]
				}
				switch p.Kind() {
				case cmbo.KindLogFloat:
					v = math.Min(math.Max(math.Exp(math.Log(lo)+rng.Float64()*(math.Log(hi)-math.Log(lo))), lo), hi)
				case cmbo.KindFloat:
					if rng.IntN(8) == 0 && lo <= 0 && hi >= 0 {
						v = []float64{0, math.Copysign(0, -1), math.SmallestNonzeroFloat64}[rng.IntN(3)]
						v = math.Max(v, lo)
					}
				default:
					v = math.Min(math.Floor(v), hi)
				}
				x = append(x, v)
			}
			t.X = append(t.X, x)
			y := rng.NormFloat64() * math.Pow(10, float64(rng.IntN(40)-20))
			if rng.IntN(10) == 0 {
				y = []float64{0, math.Copysign(0, -1), 1e150, -1e150, 5e-324, 0.30000000000000004}[rng.IntN(6)]
			}
			t.Y = append(t.Y, y)
			if noisy {
				t.NoiseVariance = append(t.NoiseVariance, []float64{0, rng.ExpFloat64(), 1e150, 5e-324}[rng.IntN(4)])
			}
		}
		if !slices.ContainsFunc(t.NoiseVariance, func(v float64) bool { return v > 0 }) {
			t.NoiseVariance = nil // how a reader returns it
		}
		out = append(out, t)
	}
	return out
}

// sameBits compares tasks bit for bit.
func sameBits(a, b []cmbo.Task) bool {
	bits := func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }
	return slices.EqualFunc(a, b, func(s, t cmbo.Task) bool {
		return s.ID == t.ID &&
			slices.EqualFunc(s.X, t.X, func(x, y []float64) bool { return slices.EqualFunc(x, y, bits) }) &&
			slices.EqualFunc(s.Failed, t.Failed, func(x, y []float64) bool { return slices.EqualFunc(x, y, bits) }) &&
			slices.EqualFunc(s.Y, t.Y, bits) &&
			(s.NoiseVariance == nil) == (t.NoiseVariance == nil) &&
			slices.EqualFunc(s.NoiseVariance, t.NoiseVariance, bits) &&
			reflect.DeepEqual(s.Context, t.Context) && reflect.DeepEqual(shown(s), shown(t))
	})
}

// shown returns the curves that have steps, by the number of the value.
func shown(t cmbo.Task) map[int]cmbo.Curve {
	out := make(map[int]cmbo.Curve)
	for i, c := range t.Curves {
		if len(c.Steps) > 0 {
			out[i] = c
		}
	}
	return out
}

// mustBeLearnable checks that cmbo takes every observation: an optimiser over
// the space is the judge.
func mustBeLearnable(tb testing.TB, r *history.Result) {
	tb.Helper()
	o, err := cmbo.New(r.Space)
	if err != nil {
		tb.Fatal(err)
	}
	if len(r.Tasks) == 0 {
		tb.Fatal("accepted without a task")
	}
	seen := make(map[string]bool)
	n, failed := 0, 0
	for _, t := range r.Tasks {
		if t.ID == "" || seen[t.ID] || len(t.X)+len(t.Failed) == 0 || len(t.X) != len(t.Y) || t.NoiseVariance != nil && len(t.NoiseVariance) != len(t.Y) {
			tb.Fatalf("task %q is not well formed", t.ID)
		}
		seen[t.ID] = true
		for i, x := range t.X {
			var opts []cmbo.ObservationOption
			if t.NoiseVariance != nil && t.NoiseVariance[i] != 0 {
				opts = append(opts, cmbo.WithNoise(t.NoiseVariance[i]))
			}
			if err := o.Observe(x, t.Y[i], opts...); err != nil {
				tb.Fatalf("task %q: observation %d: %v", t.ID, i, err)
			}
			n++
		}
		for i, x := range t.Failed {
			if err := r.Space.Check(x); err != nil {
				tb.Fatalf("task %q: failure %d: %v", t.ID, i, err)
			}
			n, failed = n+1, failed+1
		}
		if !reflect.DeepEqual(t.Params, r.Space.Params()) {
			tb.Fatalf("task %q: recorded with %v", t.ID, t.Params)
		}
	}
	if p := r.Report; p.Accepted != n || p.Failed != failed || p.Rows != p.Accepted+p.Skipped || len(p.Errors) != min(p.Skipped, history.MaxErrors) {
		tb.Fatalf("report %d rows, %d accepted, %d skipped, %d errors; there are %d observations", p.Rows, p.Accepted, p.Skipped, len(p.Errors), n)
	}
}

// mustBeRow checks the place and the kind of an error.
func mustBeRow(tb testing.TB, err error, line int, field, value string, sentinel error, reason string) {
	tb.Helper()
	var e *history.RowError
	if !errors.As(err, &e) {
		tb.Fatalf("%v (%T) is no *RowError", err, err)
	}
	if e.Line != line || e.Field != field || e.Value != value || !errors.Is(err, sentinel) || !strings.Contains(e.Reason, reason) {
		tb.Fatalf("%q: line %d, field %q, value %q, reason %q; want line %d, field %q, value %q, reason %q, %v",
			err, e.Line, e.Field, e.Value, e.Reason, line, field, value, reason, sentinel)
	}
}

// fixture reads a file of testdata.
func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// journals lists the Optuna journals of one kind.
func journals(tb testing.TB, kind string) []string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "optuna", "optuna-*-"+kind+".log"))
	if err != nil || len(names) < 3 {
		tb.Fatalf("journals %q: %d found, %v", kind, len(names), err)
	}
	for i := range names {
		names[i] = "optuna/" + filepath.Base(names[i])
	}
	return names
}

// endless is a text without an end.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[(e.read+i)%len(e.text)]
	}
	e.read += len(p)
	return len(p), nil
}
