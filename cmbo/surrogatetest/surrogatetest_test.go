package surrogatetest_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/surrogatetest"
	"github.com/gocmbo/cmbo/linalg"
)

// recorder takes the place of a test and keeps what is reported.
type recorder struct {
	testing.TB
	reports []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

// mean is the mean of the values, surer where a point was told or is pending, with all
// that a surrogate may offer. Each defect is the name of a line gone wrong.
type mean struct {
	defect string
	d      cmbo.Data
	params []float64
	bound  bool
	calls  float64
	fits   float64
	most   int // values told at a time
	last   int // values told by the last Fit, more than none
}

func (m *mean) Fit(ctx context.Context, d cmbo.Data) error {
	if m.defect == "broken by cancel" && m.calls < 0 {
		return fmt.Errorf("broken")
	}
	if err := ctx.Err(); err != nil {
		m.calls = -1
		if m.defect == "other error" {
			return fmt.Errorf("stopped")
		}
		return err
	}
	if m.defect == "changes data" && len(d.Y) > 0 {
		d.Y[0] = 0
	}
	m.d = d
	if m.defect == "misses a Fit" && len(d.Y) == 3 {
		return fmt.Errorf("no fit")
	}
	if known := d.Fitted[len(d.Y)]; known != nil && m.defect != "fits again" {
		m.params = known
		return nil
	}
	s := 0.0
	for _, y := range d.Y {
		s += y / float64(len(d.Y))
	}
	if m.defect == "fits again" {
		s += float64(len(d.Fitted))
	}
	switch m.defect {
	case "remembers":
		if m.params != nil {
			s = s/2 + m.params[0]/2
		}
	case "counts its fits":
		m.fits++
		s += 1e-9 * m.fits
	case "remembers more":
		if m.most = max(m.most, len(d.Y)); m.most > len(d.Y) {
			s += 1e-9
		}
	case "remembers fewer":
		if m.last > 0 && m.last == len(d.Y)-1 {
			s += 1e-9
		}
		m.last = len(d.Y)
	case "off by a digit after cancel":
		s -= 1e-9 * m.calls
	case "far below", "far below, in rounding", "far below, draws in rounding":
		s -= 9
	case "sure of 0":
		s = 0
	}
	m.params = []float64{s}
	return nil
}

func (m *mean) Predict(_ context.Context, mean, sd []float64, x *linalg.Dense) error {
	if m.defect == "no prediction" && len(m.d.Y) == 2 {
		return fmt.Errorf("nothing to say")
	}
	rows, _ := x.Dims()
	for i := range mean {
		mean[i], sd[i] = m.params[0], 1
		switch m.defect {
		case "lower alone":
			if rows == 1 {
				mean[i] -= 1e-3
			}
		case "surer alone":
			if rows == 1 {
				sd[i] -= 1e-3
			}
		case "far below, in rounding":
			if rows == 1 {
				mean[i] -= 0.9e-6 * (1 - mean[i])
			}
		case "sure of 0", "far below, draws in rounding":
			sd[i] = 0
		case "draws at the bound", "draws at the lower bound", "draws beyond the bound", "draws beyond the lower bound":
			sd[i] = 4
		case "less sure elsewhere while pending":
			n, _ := m.d.Pending.Dims()
			pending := n == 0
			for j := range n {
				pending = pending || slices.Equal(m.d.Pending.Row(j), x.Row(i))
			}
			if !pending {
				sd[i]++
			}
		case "a little less sure while pending":
			n, _ := m.d.Pending.Dims()
			sd[i] += 1e-3 * float64(n)
		case "changes points":
			x.Row(i)[0] = 0.5
		case "NaN":
			mean[i] = math.NaN()
		case "negative":
			sd[i] = -1
		case "looks at its neighbours":
			mean[i] += x.Row(0)[0]
		case "unsure while pending":
			n, _ := m.d.Pending.Dims()
			sd[i] += float64(n)
		case "bound elsewhere":
			if m.bound {
				mean[i]++
			}
		case "scores and forgets":
			mean[i] += m.calls
		}
	}
	return nil
}

func (m *mean) Bind(context.Context, *linalg.Dense) error { m.bound = true; return nil }

func (m *mean) Score(ctx context.Context, dst []float64, x *linalg.Dense, f acq.Func, best float64) error {
	m.calls++
	if err := m.checkScored(f, best); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = x.Row(i)[0]
		switch m.defect {
		case "NaN score":
			dst[i] = best
		case "scores by turns":
			dst[i] = m.calls
		}
	}
	return nil
}
func (m *mean) MaxValue() float64 {
	if m.defect == "NaN maximum" {
		return math.NaN()
	}
	return 1
}
func (m *mean) Describe(*cmbo.Step) {
	if m.defect == "described and forgotten" {
		m.params = []float64{m.params[0] + 1}
	}
}

func (m *mean) State(context.Context) ([]float64, error) {
	switch {
	case m.defect == "no state after two" && len(m.d.Y) == 2:
		return nil, fmt.Errorf("no state")
	case m.defect == "without a state":
		return nil, nil
	}
	return []float64{1}, nil
}
func (m *mean) CheckState(s []float64) error {
	if m.defect == "refuses its state" || m.defect == "without a state" {
		return fmt.Errorf("%v", s)
	}
	if len(s) != 1 && m.defect != "any state" {
		return fmt.Errorf("%d numbers", len(s))
	}
	return nil
}
func (m *mean) Fitted() (int, []float64) {
	switch m.defect {
	case "fitted to fewer than none":
		return -1, m.params
	case "fitted to more":
		return len(m.d.Y) + 1, m.params
	}
	return len(m.d.Y), m.params
}
func (m *mean) CheckFitted(p []float64) error {
	if m.defect == "refuses its parameters" {
		return fmt.Errorf("%v", p)
	}
	if len(p) != 1 && m.defect != "any parameters" {
		return fmt.Errorf("%d numbers", len(p))
	}
	return nil
}
func (m *mean) Weights() []float64 {
	switch m.defect {
	case "weights":
		return []float64{0.4, 0.4}
	case "one weight":
		return []float64{0.4}
	case "without a state":
		return nil
	}
	return []float64{0.4, 0.6}
}
func (m *mean) Hypotheses() []cmbo.Hypothesis {
	s := []cmbo.Hypothesis{{Cluster: -1, Mass: 0.5, Reversed: 0.1}, {Level: cmbo.LevelCluster, Mass: 0.5}}
	switch m.defect {
	case "masses":
		s[0].Mass = 0.4
	case "reversed":
		s[0].Reversed = 0.6
	case "cluster":
		s[0].Cluster = 0
	case "one mass":
		return []cmbo.Hypothesis{{Cluster: -1, Mass: 0.4}}
	case "without a state":
		return nil
	case "sure of 0":
		s = append(s, cmbo.Hypothesis{Cluster: -1})
		s[0].Reversed = s[0].Mass
	}
	return s
}
func (m *mean) PriorMean() []float64 {
	if m.defect == "prior mean" {
		return []float64{1, 2, 3}
	}
	return make([]float64, len(m.d.Y))
}
func (m *mean) TaskMeans(_ context.Context, x *linalg.Dense) ([]string, [][]float64, error) {
	n, _ := x.Dims()
	switch m.defect {
	case "task means":
		n--
	case "no task means":
		return nil, nil, fmt.Errorf("no means")
	case "a task without means":
		return []string{"a", "b"}, [][]float64{make([]float64, n)}, nil
	}
	return []string{"a"}, [][]float64{make([]float64, n)}, nil
}
func (m *mean) Sample(_ context.Context, dst []float64, x *linalg.Dense, r *rand.Rand) error {
	z := r.NormFloat64()
	switch m.defect {
	case "own source":
		z = rand.NormFloat64()
	case "biased draws":
		z += 0.5
	case "sure of 0":
		z = 0
	case "draws at the bound":
		z = 0.999
	case "draws at the lower bound":
		z = -0.999
	case "draws beyond the bound":
		z = 1.001
	case "draws beyond the lower bound":
		z = -1.001
	case "far below, draws in rounding":
		z = -0.9e-6 * math.Abs(m.params[0])
	}
	for i := range dst {
		dst[i] = m.params[0] + z
	}
	return nil
}
func (m *mean) NoiseVariance() float64 {
	if m.defect == "noise" {
		return -1
	}
	return 0
}

// TestDefects plants one defect at a time and names the check that must see it.
func TestDefects(t *testing.T) {
	for _, tt := range []struct{ defect, check string }{
		{"NaN", "predictions"}, {"negative", "predictions"}, {"changes data", "predictions"},
		{"changes points", "predictions"}, {"looks at its neighbours", "predictions"},
		{"remembers", "repeatable"}, {"unsure while pending", "pending"},
		{"other error", "cancelled"}, {"broken by cancel", "cancelled"}, {"bound elsewhere", "candidates"},
		{"NaN score", "scores"}, {"scores by turns", "scores"}, {"scores and forgets", "scores"},
		{"NaN maximum", "scores"}, {"described and forgotten", "scores"},
		{"any state", "restored"}, {"any parameters", "restored"}, {"fits again", "restored"},
		{"weights", "masses"}, {"masses", "masses"}, {"reversed", "masses"}, {"cluster", "masses"},
		{"prior mean", "masses"}, {"task means", "masses"},
		{"own source", "draws"}, {"biased draws", "draws"}, {"noise", "noise"},
		{"misses a Fit", "predictions"}, {"no prediction", "predictions"}, {"no state after two", "predictions"},
		{"lower alone", "predictions"}, {"surer alone", "predictions"},
		{"counts its fits", "repeatable"}, {"remembers more", "repeatable"}, {"remembers fewer", "repeatable"}, {"off by a digit after cancel", "cancelled"},
		{"a little less sure while pending", "pending"}, {"refuses its state", "restored"}, {"refuses its parameters", "restored"},
		{"fitted to fewer than none", "restored"}, {"fitted to more", "restored"}, {"one weight", "masses"}, {"one mass", "masses"},
		{"no task means", "masses"}, {"a task without means", "masses"},
		{"draws beyond the bound", "draws"}, {"draws beyond the lower bound", "draws"},
	} {
		t.Run(tt.defect, func(t *testing.T) {
			var r recorder
			surrogatetest.TestSurrogate(&r, 2, func() cmbo.Surrogate { return &mean{defect: tt.defect} })
			found := false
			for _, s := range r.reports {
				t.Log(s)
				found = found || strings.Contains(s, ": "+tt.check+": ")
			}
			require.True(t, found, "check %q reports nothing", tt.check)
		})
	}
}

// TestSound: what is as it should be, to the edge, is not reported.
func TestSound(t *testing.T) {
	for _, sound := range []string{
		"", "sure of 0", "without a state", "far below", "far below, in rounding", "far below, draws in rounding",
		"draws at the bound", "draws at the lower bound", "less sure elsewhere while pending",
	} {
		t.Run(sound, func(t *testing.T) {
			surrogatetest.TestSurrogate(t, 3, func() cmbo.Surrogate { return &mean{defect: sound} })
		})
	}
}

// A surrogate that only fits and predicts is sound, too.
func TestSoundAndNoMore(t *testing.T) {
	surrogatetest.TestSurrogate(t, 2, func() cmbo.Surrogate { return struct{ cmbo.Surrogate }{new(mean)} })
}

// TestWhenItFails: an error of a run is reported with the number of values after which it came.
func TestWhenItFails(t *testing.T) {
	var r recorder
	surrogatetest.TestSurrogate(&r, 2, func() cmbo.Surrogate { return &mean{defect: "no state after two"} })
	require.Contains(t, r.reports[0], "predictions: after 2 values: no state")
}

// checkScored reports another acquisition than those of the values told, or another best one.
func (m *mean) checkScored(f acq.Func, best float64) error {
	if len(m.d.Y) == 0 {
		if f != (acq.EI{}) && f != (acq.UCB{Beta: 2}) || !math.IsNaN(best) {
			return fmt.Errorf("%v of %v before the first value", f, best)
		}
	} else if most := slices.Max(m.d.Y); best != most || f != (acq.EI{Best: most}) && f != (acq.PI{Target: most}) && f != (acq.UCB{Beta: 2}) {
		return fmt.Errorf("%v of %v, and the best value is %v", f, best, most)
	}
	return nil
}

// TestScoresBeforeValues: before the first value expected improvement over 0 is asked for, and UCB.
func TestScoresBeforeValues(t *testing.T) {
	asked := make(map[acq.Func]bool)
	surrogatetest.TestSurrogate(t, 2, func() cmbo.Surrogate {
		return &witness{score: func(d cmbo.Data, f acq.Func) {
			if len(d.Y) == 0 {
				asked[f] = true
			}
		}}
	})
	require.Equal(t, map[acq.Func]bool{acq.EI{}: true, acq.UCB{Beta: 2}: true}, asked)
}

// TestTold: a run is told values of a bowl one at a time, up to six, with what the surrogate returned before.
func TestTold(t *testing.T) {
	most := 0
	surrogatetest.TestSurrogate(t, 2, func() cmbo.Surrogate {
		return &witness{see: func(d cmbo.Data) {
			n := len(d.Y)
			most = max(most, n)
			require.Equal(t, n+1, d.Step)
			waiting, _ := d.Pending.Dims()
			require.Contains(t, []int{0, 2}, waiting) // two in the check of pending points
			rows, _ := d.X.Dims()
			require.Equal(t, n, rows)
			require.Equal(t, d.X, d.Seen)
			require.Equal(t, d.Y, d.Raw)
			require.Equal(t, make([]float64, n), append([]float64{}, d.NoiseVariance...))
			require.Equal(t, make([]float64, n), append([]float64{}, d.RawNoiseVariance...))
			for i, y := range d.Y {
				x := d.X.Row(i)
				require.InDelta(t, 1-4*math.Pow(x[0]-0.4, 2)-4*math.Pow(x[1]-0.4, 2), y, 1e-14)
				require.Equal(t, i+1, d.Trials[i])
				require.Equal(t, []float64{1}, d.States[i])
				require.Len(t, d.Fitted[i], 1)
			}
			require.LessOrEqual(t, len(d.Fitted), n+1)
		}}
	})
	require.Equal(t, 6, most)
}

// witness shows what it is told.
type witness struct {
	mean
	see   func(d cmbo.Data)
	score func(d cmbo.Data, f acq.Func)
}

func (w *witness) Fit(ctx context.Context, d cmbo.Data) error {
	if w.see != nil {
		w.see(d)
	}
	return w.mean.Fit(ctx, d)
}

func (w *witness) Score(ctx context.Context, dst []float64, x *linalg.Dense, f acq.Func, best float64) error {
	if w.score != nil {
		w.score(w.d, f)
	}
	return w.mean.Score(ctx, dst, x, f, best)
}

func ExampleTestSurrogate() {
	t := new(recorder) // in a test, its *testing.T
	surrogatetest.TestSurrogate(t, 2, func() cmbo.Surrogate { return new(mean) })
	fmt.Println(len(t.reports), "failures")
	// Output: 0 failures
}
