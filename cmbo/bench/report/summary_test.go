package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/bench"
)

// An experiment that stopped: methods are compared on what they share, one with
// too little is set aside, and both are told.
func TestIncomplete(t *testing.T) {
	var rs []bench.Record
	for k := range 10 {
		rs = append(rs, rec("A", "t", k, 0.5, 0.1))
		if k < 7 {
			rs = append(rs, rec("B", "t", k, 0.5, 0.2))
		}
		if k >= 2 {
			rs = append(rs, rec("C", "t", k, 0.5, 0.3))
		}
		if k < 4 {
			rs = append(rs, rec("D", "t", k, 0.5, 0.0))
		}
	}
	c := analyse(t, rs).Comparisons[0]
	assert.Equal(t, 5, c.Runs) // repeats 2 to 6
	assert.Equal(t, 10, c.Known)
	assert.Equal(t, []Entry{{"A", 10, true}, {"B", 7, true}, {"C", 8, true}, {"D", 4, false}}, c.Entries)
	assert.Len(t, c.Results, 3)
	assert.Equal(t, "Left out, since less than half of the 10 runs that are there: D (4).", c.cautions()[0])
	assert.Contains(t, c.cautions()[1], "10 runs") // 5 + 2 + 3

	// Over all spaces, what is compared in each.
	rs = []bench.Record{rec("A", "t", 0, 0.5), rec("B", "t", 0, 0.4), rec("C", "t", 0, 0.3), rec("A", "t", 0, 0.5), rec("C", "t", 0, 0.5)}
	rs[3].Space, rs[4].Space = "z", "z"
	c = analyse(t, rs).Comparisons[0]
	assert.Equal(t, []Entry{{"A", 2, true}, {"B", 1, false}, {"C", 2, true}}, c.Entries)
	assert.Equal(t, "Left out, since some space does not compare them (of the 2 runs that are there): B (1).", c.cautions()[0])
	require.Len(t, c.Results, 2)
	assert.Equal(t, []float64{1.75}, c.Results[0].Rank, "second, and tied: ranks are among two methods")
	assert.Equal(t, []float64{1.25}, c.Results[1].Rank)

	// Two halves that do not meet.
	rs = []bench.Record{rec("A", "t", 0, 0.5), rec("B", "t", 1, 0.5)}
	s := analyse(t, rs)
	assert.Empty(t, s.Comparisons[0].Results)
	assert.NotEmpty(t, htmlOf(t, s))
}

// What has no acquisition function stands beside all that are run in its space.
func TestFields(t *testing.T) {
	random := rec("Random", "t", 0, 0.5, 0.4)
	random.Acquisition = ""
	pi := rec("A", "t", 0, 0.5, 0.3)
	pi.Acquisition = "PI"
	lone := random
	lone.Space = "z"
	s := analyse(t, []bench.Record{random, pi, rec("A", "t", 0, 0.5, 0.35), lone})
	assert.Equal(t, []string{"EI", "PI"}, s.Acquisitions)
	var got []string
	for _, c := range s.Comparisons {
		for _, r := range c.Results {
			got = append(got, c.Space+" "+c.Acquisition+" "+r.Method)
		}
	}
	assert.Equal(t, []string{" EI Random", " EI A", " PI Random", " PI A", "s EI Random", "s EI A", "s PI Random", "s PI A"}, got)
	assert.InDelta(t, 0.35, s.Comparisons[0].Result("A").Final(), 1e-15)
}

func TestErrors(t *testing.T) {
	good := rec("A", "t", 0, 0.5, 0.2)
	change := func(f func(r *bench.Record)) []bench.Record {
		r := good
		f(&r)
		return []bench.Record{rec("B", "t", 0, 0.5, 0.2), r}
	}
	nan := math.NaN()
	for name, c := range map[string]struct {
		records []bench.Record
		is      error
		says    string
	}{
		"none":                {is: cmbo.ErrNoTasks, says: "there are none"},
		"no regrets":          {records: change(func(r *bench.Record) { r.Regret = nil }), is: cmbo.ErrDimension, says: "has no regrets"},
		"ragged":              {records: change(func(r *bench.Record) { r.Regret = []float64{0.5} }), is: cmbo.ErrDimension, says: "has 0"},
		"NaN":                 {records: change(func(r *bench.Record) { r.Regret = []float64{0.5, nan} }), is: cmbo.ErrNotFinite, says: "after 1 queries is NaN"},
		"outside":             {records: change(func(r *bench.Record) { r.Regret = []float64{1.5, 0.2} }), says: "outside [0, 1]"},
		"negative":            {records: change(func(r *bench.Record) { r.Regret = []float64{0.5, -0.2} }), says: "outside [0, 1]"},
		"rises":               {records: change(func(r *bench.Record) { r.Regret = []float64{0.2, 0.3} }), says: "rises"},
		"twice":               {records: []bench.Record{good, good}, says: "twice"},
		"unknown acquisition": {records: change(func(r *bench.Record) { r.Acquisition = "magic" }), is: cmbo.ErrOption, says: "unknown acquisition"},
		"other spelling":      {records: change(func(r *bench.Record) { r.Acquisition = "ei" }), is: cmbo.ErrOption, says: `written "EI"`},
		"no space":            {records: change(func(r *bench.Record) { r.Space = "" }), says: "space has no name"},
		"no method":           {records: change(func(r *bench.Record) { r.Method = "" }), says: "method has no name"},
		"no task":             {records: change(func(r *bench.Record) { r.Task = "" }), says: "task has no name"},
		"negative split":      {records: change(func(r *bench.Record) { r.Split = -1 }), says: "negative"},
		"predictions":         {records: change(func(r *bench.Record) { r.Z = []float64{1} }), is: cmbo.ErrDimension, says: "1 standardised errors"},
		"too many":            {records: change(func(r *bench.Record) { r.Z, r.LogSD = make([]float64, 2), make([]float64, 2) }), is: cmbo.ErrDimension, says: "for 1 queries"},
		"unknown prediction":  {records: change(func(r *bench.Record) { r.Z, r.LogSD = []float64{nan}, []float64{0} }), is: cmbo.ErrNotFinite, says: "prediction 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Analyse(c.records)
			require.Error(t, err)
			assert.Nil(t, s)
			assert.ErrorIs(t, err, ErrInput)
			if c.is != nil {
				assert.ErrorIs(t, err, c.is)
			}
			assert.ErrorContains(t, err, c.says)
		})
	}
}

// All methods that are known look different.
func TestLooks(t *testing.T) {
	ms := everyMethod()
	r := newRoster(ms)
	seen := map[int]string{}
	for _, m := range ms {
		k := r.style[m]
		assert.Positive(t, k, m)
		assert.Empty(t, seen[k], "%s looks like", m)
		seen[k] = m
	}
	assert.Equal(t, 1, r.style[standard])
	// Nor does a method look otherwise for the company it is in.
	assert.Equal(t, r.style["RGPE"], newRoster([]string{"RGPE", "unheard of"}).style["RGPE"])
	assert.Equal(t, ownFamily, familyOf("cm-BO unheard of"))
	assert.Equal(t, rivalFamily, familyOf("unheard of"))
}

func shuffled[T any](v []T, seed uint64) []T {
	out := append([]T(nil), v...)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
