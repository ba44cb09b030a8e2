package surrogatetest_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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
	if m.defect == "remembers" && m.params != nil {
		s = s/2 + m.params[0]/2
	}
	m.params = []float64{s}
	return nil
}

func (m *mean) Predict(_ context.Context, mean, sd []float64, x *linalg.Dense) error {
	for i := range mean {
		mean[i], sd[i] = m.params[0], 1
		switch m.defect {
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

func (m *mean) State(context.Context) ([]float64, error) { return []float64{1}, nil }
func (m *mean) CheckState(s []float64) error {
	if len(s) != 1 && m.defect != "any state" {
		return fmt.Errorf("%d numbers", len(s))
	}
	return nil
}
func (m *mean) Fitted() (int, []float64) { return len(m.d.Y), m.params }
func (m *mean) CheckFitted(p []float64) error {
	if len(p) != 1 && m.defect != "any parameters" {
		return fmt.Errorf("%d numbers", len(p))
	}
	return nil
}
func (m *mean) Weights() []float64 {
	if m.defect == "weights" {
		return []float64{0.4, 0.4}
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
	if m.defect == "task means" {
		n--
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

func TestSound(t *testing.T) {
	surrogatetest.TestSurrogate(t, 3, func() cmbo.Surrogate { return new(mean) })
}

func ExampleTestSurrogate() {
	t := new(recorder) // in a test, its *testing.T
	surrogatetest.TestSurrogate(t, 2, func() cmbo.Surrogate { return new(mean) })
	fmt.Println(len(t.reports), "failures")
	// Output: 0 failures
}
