package report

import (
	"math"
	"math/rand/v2"
	"slices"
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
	assert.Equal(t, []string{"D"}, c.Absent)
	assert.Len(t, c.Results, 3)
	assert.Equal(t, 5+2+3, c.Left)
	table := (&Summary{Comparisons: []Comparison{c}}).runTable()
	var shown []string
	for _, cell := range table.Rows[0] {
		shown = append(shown, cell.String())
	}
	assert.Equal(t, []string{"s", "EI", "3", "1", "5", "10", "D"}, shown)

	// Over all spaces, what is compared in each.
	rs = []bench.Record{rec("A", "t", 0, 0.5), rec("B", "t", 0, 0.4), rec("C", "t", 0, 0.3), rec("A", "t", 0, 0.5), rec("C", "t", 0, 0.5)}
	rs[3].Space, rs[4].Space = "z", "z"
	all := analyse(t, rs).Comparisons
	c = all[0]
	assert.Empty(t, all[2].Absent, "B was not run there")
	assert.Equal(t, []string{"B"}, c.Absent)
	assert.Zero(t, c.Left)
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
	var got []string
	for _, c := range s.Comparisons {
		for _, r := range c.Results {
			got = append(got, c.Space+" "+c.Acquisition+" "+r.Method)
		}
	}
	assert.Equal(t, []string{" EI Random", " EI A", " PI Random", " PI A", "s EI Random", "s EI A", "s PI Random", "s PI A", "z  Random"}, got)
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
		"none":               {is: cmbo.ErrNoTasks, says: "there are none"},
		"no regrets":         {records: change(func(r *bench.Record) { r.Regret = nil }), is: cmbo.ErrDimension, says: "has no regrets"},
		"ragged":             {records: change(func(r *bench.Record) { r.Regret = []float64{0.5} }), is: cmbo.ErrDimension, says: "0 queries, but run of B"},
		"NaN":                {records: change(func(r *bench.Record) { r.Regret = []float64{0.5, nan} }), is: cmbo.ErrValue, says: "after 1 queries is NaN"},
		"outside":            {records: change(func(r *bench.Record) { r.Regret = []float64{1.5, 0.2} }), says: "outside [0, 1]"},
		"negative":           {records: change(func(r *bench.Record) { r.Regret = []float64{0.5, -0.2} }), says: "outside [0, 1]"},
		"rises":              {records: change(func(r *bench.Record) { r.Regret = []float64{0.2, 0.3} }), says: "rises"},
		"twice":              {records: []bench.Record{good, good}, says: "twice"},
		"no acquisition":     {records: change(func(r *bench.Record) { r.Acquisition = "magic" }), is: cmbo.ErrOption, says: "unknown acquisition"},
		"other spelling":     {records: change(func(r *bench.Record) { r.Acquisition = "ei" }), is: cmbo.ErrOption, says: `written "EI"`},
		"no space":           {records: change(func(r *bench.Record) { r.Space = "" }), says: "have names"},
		"no method":          {records: change(func(r *bench.Record) { r.Method = "" }), says: "have names"},
		"split":              {records: change(func(r *bench.Record) { r.Split = -1 }), says: "count from 0"},
		"repeat":             {records: change(func(r *bench.Record) { r.Repeat = -1 }), says: "count from 0"},
		"no task":            {records: change(func(r *bench.Record) { r.Task = "" }), says: "have names"},
		"predictions":        {records: change(func(r *bench.Record) { r.Z = []float64{1} }), is: cmbo.ErrDimension, says: "1 standardised errors"},
		"too many":           {records: change(func(r *bench.Record) { r.Z, r.LogSD = make([]float64, 2), make([]float64, 2) }), is: cmbo.ErrDimension, says: "for 1 queries"},
		"unknown prediction": {records: change(func(r *bench.Record) { r.Z, r.LogSD = []float64{nan}, []float64{0} }), is: cmbo.ErrValue, says: "prediction 0"},
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

// Methods are shown in the order of their families, the default first.
func TestOrderOfMethods(t *testing.T) {
	var rs []bench.Record
	want := []string{"cm-BO", "GlobalCen", "cm-BO:no-hedge", "GP", "Random", "RGPE", "unheard of"}
	for _, m := range want {
		rs = append(rs, rec(m, "t", 0, 0.5))
	}
	var got []string
	for _, r := range analyse(t, shuffled(rs, 1)).Comparisons[0].Results {
		got = append(got, r.Method)
	}
	assert.Equal(t, want, got)
}

// A figure has no more methods than colours.
func TestMethodsShown(t *testing.T) {
	d := large()
	d.spaces, d.splits, d.repeats = d.spaces[:1], 2, 1
	s := analyse(t, d.make(1))
	methods, bands := s.shown(s.Comparisons[:3])
	families := map[string]int{}
	for _, m := range methods {
		families[familyOf(m)]++
	}
	assert.Equal(t, map[string]int{ownFamily: 3, reference: 2, rivalFamily: 3}, families)
	assert.Equal(t, standard, methods[0])
	require.Len(t, bands, 2)
	best := bands[1]
	assert.Equal(t, rivalFamily, familyOf(best))
	for m, family := range map[string]string{"GP": reference, "RGPE": rivalFamily, "cm-BO": ownFamily} {
		assert.Equal(t, family, familyOf(m+bench.SharedValues))
	}
	mean := func(m string) float64 {
		var rank, n float64
		for _, c := range s.Comparisons[:3] {
			if r := c.Result(m); r != nil { // some are run with one acquisition alone
				rank, n = rank+r.Rank[s.Budget], n+1
			}
		}
		return rank / n
	}
	for _, r := range s.Comparisons[0].Results {
		if familyOf(r.Method) == rivalFamily {
			assert.LessOrEqual(t, mean(best), mean(r.Method)+rankUnit, r.Method)
		}
	}
	panels := s.figure(s.Comparisons[:3], map[string]int{}).Panels
	var means []float64 // above 0
	for i, p := range panels {
		assert.LessOrEqual(t, len(p.Series), 8)
		assert.Equal(t, i < 3, p.Y.Log)
		for _, line := range p.Series {
			r := s.Comparisons[i%3].Result(line.Name)
			assert.Equal(t, [][]float64{r.Regret, r.Rank, r.Solved}[i/3], line.Y)
			if i < 3 {
				means = append(means, slices.DeleteFunc(slices.Clone(r.Regret), func(v float64) bool { return v <= 0 })...)
			}
		}
	}
	assert.InEpsilon(t, slices.Min(means)/1.6, panels[0].Y.Min, 1e-12)
	assert.InEpsilon(t, slices.Max(means)*1.15, panels[0].Y.Max, 1e-12)
}

func shuffled[T any](v []T, seed uint64) []T {
	out := append([]T(nil), v...)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
