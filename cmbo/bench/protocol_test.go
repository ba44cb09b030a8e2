package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/baseline"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

// An experiment goes on as one that wants every run that it wanted, and no run otherwise.
func TestProtocolContains(t *testing.T) {
	paper := protocolOf(t, "paper")
	for name, tt := range map[string]struct {
		was, is func(p *Protocol)
		why     string
	}{
		"the same":        {},
		"more splits":     {is: func(p *Protocol) { p.Splits++ }},
		"fewer splits":    {is: func(p *Protocol) { p.Splits-- }, why: "5 splits, now only 4"},
		"more repeats":    {is: func(p *Protocol) { p.Repeats++ }},
		"fewer repeats":   {is: func(p *Protocol) { p.Repeats-- }, why: "8 repeats, now only 7"},
		"few of all":      {is: func(p *Protocol) { p.Targets = 3 }, why: "0 targets (0 for all), now only 3"},
		"all of few":      {was: func(p *Protocol) { p.Targets = 3 }},
		"as many":         {was: func(p *Protocol) { p.Targets = 3 }, is: func(p *Protocol) { p.Targets = 3 }},
		"fewer of few":    {was: func(p *Protocol) { p.Targets = 3 }, is: func(p *Protocol) { p.Targets = 2 }, why: "3 targets (0 for all), now only 2"},
		"more methods":    {was: func(p *Protocol) { p.Methods = p.Methods[1:] }},
		"a method less":   {is: func(p *Protocol) { p.Methods = p.Methods[1:] }, why: "method " + paper.Methods[0] + ", now not"},
		"an acquisition":  {is: func(p *Protocol) { p.Acquisitions = p.Acquisitions[1:] }, why: "acquisition UCB(3), now not"},
		"another seed":    {is: func(p *Protocol) { p.Seed = 2 }, why: "seed 1, now 2"},
		"a past by name":  {is: func(p *Protocol) { p.Past = "as they are" }},
		"other clusters":  {is: func(p *Protocol) { p.Clusters[1] = 7 }, why: "clusters [2 6], now [2 7]"},
		"a larger budget": {is: func(p *Protocol) { p.Budget++ }, why: "budget 50, now 51"},
	} {
		was, is := paper.clone(), paper.clone()
		if tt.was != nil {
			tt.was(&was)
		}
		if tt.is != nil {
			tt.is(&is)
		}
		require.Equal(t, tt.why, is.contains(&was), name)
	}
}

// A model whose runs of a repeat are all known has nothing left to make in it; other batches hold the runs that are missing.
func TestBatches(t *testing.T) {
	p := &plan{Protocol: Protocol{Repeats: 2}, acquisitions: []acq.Func{cmbo.EI()}}
	m := &model{key: runKey{space: "s", method: "a"}, method: Method{Name: "a", Use: baseline.AnyAcquisition}, targets: []string{"x", "y"}}
	known := make(map[runKey]bool)
	for _, want := range [][2]int{{2, 4}, {1, 2}, {0, 0}} { // batches, and runs in them
		m.uses = 0
		open, total := p.batches([]*model{m}, known)
		require.Equal(t, 4, total)
		require.Len(t, open, want[0])
		require.Equal(t, want[0], m.uses)
		runs := 0
		for _, b := range open {
			runs += len(b.runs)
		}
		require.Equal(t, want[1], runs)
		if len(open) > 0 {
			for _, run := range open[0].runs {
				known[run.runKey] = true
			}
		}
	}
}

// Runs are in the order of the space, of the catalogue's methods and then others by name, of the acquisition, and of the
// numbers of a run.
func TestRunOrder(t *testing.T) {
	p := &plan{catalogue: []Method{{Name: "b"}, {Name: "a"}}}
	keys := []runKey{
		{"s", "b", "EI", 1, "x", 2}, {"s", "b", "UCB", 0, "x", 0}, {"s", "b", "UCB", 0, "x", 1}, {"s", "b", "UCB", 0, "y", 0},
		{"s", "b", "UCB", 1, "x", 0}, {"s", "a", "EI", 0, "x", 0}, {"s", "c", "EI", 0, "x", 0}, {"s", "d", "EI", 0, "x", 0}, {"t", "b", "EI", 0, "x", 0},
	}
	for i, a := range keys {
		for j, b := range keys {
			require.Equal(t, cmp.Compare(i, j), p.compare(a, b), "%v and %v", a, b)
		}
	}
}

func TestProtocolsAreWhatTheirSourcesSay(t *testing.T) {
	for _, p := range Protocols() {
		require.NoError(t, p.Check(), p.Name)
		found := protocolOf(t, p.Name)
		require.Equal(t, p, found)
	}
	paper := protocolOf(t, "Paper")
	require.Equal(t, []any{5, 0.85, 50, 5, 8, 50, 0}, []any{paper.Splits, paper.SourceShare, paper.SourceRows, paper.Initial, paper.Repeats, paper.Budget, paper.Targets})
	require.Equal(t, []string{"UCB(3)", "EI", "PI"}, paper.Acquisitions)
	require.Len(t, paper.Methods, len(baseline.Methods())+7+2)
	hpob := protocolOf(t, "hpob")
	require.Equal(t, []any{true, 1, 5, 100}, []any{hpob.Own, hpob.Splits, hpob.Repeats, hpob.Budget})
	quick := protocolOf(t, "quick")
	require.Equal(t, []any{1, 3, 2, 15, [2]int{4, 4}}, []any{quick.Splits, quick.Targets, quick.Repeats, quick.Budget, quick.Clusters})
	require.Equal(t, []string{"EI"}, quick.Acquisitions)
	_, err := FindProtocol("none")
	require.ErrorIs(t, err, cmbo.ErrOption)
}

func TestProtocolRejects(t *testing.T) {
	paper := protocolOf(t, "paper")
	least := Protocol{Splits: 1, SourceShare: 0.5, SourceRows: 1, Repeats: 1, Budget: 1, Methods: []string{"GP"}, Acquisitions: []string{"EI"}, Clusters: [2]int{2, 2}}
	require.NoError(t, least.Check())
	for want, change := range map[string]func(*Protocol){
		"0 splits":              func(p *Protocol) { p.Splits = 0 },
		"source share NaN":      func(p *Protocol) { p.SourceShare /= 0 * p.SourceShare; p.SourceShare -= p.SourceShare },
		"-1 targets":            func(p *Protocol) { p.Targets = -1 },
		"0 methods":             func(p *Protocol) { p.Methods = nil },
		"0 acquisitions":        func(p *Protocol) { p.Acquisitions = nil },
		`no method "gpx" among`: func(p *Protocol) { p.Methods[0] = "gpx" },
		"method GP twice":       func(p *Protocol) { p.Methods = []string{"GP", "gp"} },
		"acquisition":           func(p *Protocol) { p.Acquisitions[0] = "x" },
		"acquisition EI twice":  func(p *Protocol) { p.Acquisitions = []string{"EI", "ei"} },
		"from 3 to 2":           func(p *Protocol) { p.Clusters = [2]int{3, 2} },
		"from 0 to 2":           func(p *Protocol) { p.Clusters = [2]int{0, 2} },
		"5 splits of HPO-B's":   func(p *Protocol) { p.Own = true },
		"8 repeats of HPO-B's":  func(p *Protocol) { p.Own, p.Splits = true, 1 },
	} {
		p := paper.clone()
		change(&p)
		err := p.Check()
		require.ErrorIs(t, err, cmbo.ErrOption, want)
		require.ErrorContains(t, err, want)
	}
	p := paper.clone()
	p.Methods, p.Acquisitions = []string{"wssclus_wsscmp"}, []string{"ucb"}
	pl, err := p.settle(Methods())
	require.NoError(t, err)
	require.Equal(t, []string{"WssClus_WssCMP"}, pl.Methods)
	require.Equal(t, []string{"UCB(3)"}, pl.Acquisitions)
	require.NotEqual(t, pl.Methods, paper.Methods, "presets are copies")
}

// TestMethodsSuitAcquisitions lists beside which acquisitions each method runs.
func TestMethodsSuitAcquisitions(t *testing.T) {
	p := smallProtocol()
	p.Acquisitions = []string{"UCB(3)", "EI", "PI"}
	p.Methods, p.Repeats, p.Splits = nil, 1, 1
	for _, m := range Methods() {
		p.Methods = append(p.Methods, m.Name)
	}
	pl, err := p.settle(Methods())
	require.NoError(t, err)
	models, err := pl.models([]*Table{toyTable(8, 20)})
	require.NoError(t, err)
	got := make(map[string][]string)
	open, total := pl.batches(models, nil)
	for _, b := range open {
		for _, r := range b.runs {
			got[b.method.Name] = append(got[b.method.Name], r.runKey.acquisition)
			total--
		}
	}
	require.Zero(t, total)
	for name, want := range map[string][]string{"Random": {""}, "Portfolio": {""}, "TAF-R": {"EI"}, "TAF-RGPE": {"EI"}, "RM-GP-UCB": {"UCB(3)"}, "RM-GP-TS": {"UCB(3)"}} {
		require.Equal(t, want, got[name], name)
		delete(got, name)
	}
	require.Len(t, got, len(Methods())-6)
	for name, as := range got {
		require.Equal(t, []string{"UCB(3)", "EI", "PI"}, as, name)
	}
}

// writeHPOB makes a directory in HPO-B's layout: spaces "1" and "2" with tasks of
// all three kinds.
func writeHPOB(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]any{}
	type task struct {
		X [][]float64 `json:"X"`
		Y []float64   `json:"y"`
	}
	initial := map[string]map[string]map[string][]int{}
	from := 0
	for _, kind := range hpobSplits {
		spaces := map[string]map[string]task{}
		for i, space := range []string{"1", "2"} {
			all := toyTable(12, 15+i)
			spaces[space] = map[string]task{}
			for _, tk := range all.Tasks[from : from+4] {
				spaces[space][tk.ID] = task{tk.X, tk.Y}
				if kind == "test" {
					if initial[space] == nil {
						initial[space] = map[string]map[string][]int{}
					}
					initial[space][tk.ID] = map[string][]int{}
					for r := range hpobSeeds {
						initial[space][tk.ID][hpobSeed(r)] = []int{r, 14 - r, 5}
					}
				}
			}
		}
		from += 4
		files[hpobFile(kind)] = spaces
	}
	files[hpobInitial] = initial
	for name, v := range files {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	return dir
}

func TestHPOBProtocol(t *testing.T) {
	testutil.SkipShort(t, "it is about which runs there are")
	dir := writeHPOB(t)
	spaces, err := Spaces(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2"}, spaces)
	var tables []*Table
	for _, s := range spaces {
		table := tableOf(t, dir, s)
		tables = append(tables, table)
	}
	p := protocolOf(t, "hpob")
	p.Methods, p.Acquisitions, p.SourceRows, p.Budget = []string{"Random", "GP", "RGPE"}, []string{"EI"}, 6, 12
	out, err := (&Experiment{Protocol: p}).Run(context.Background(), tables, "")
	require.NoError(t, err)
	require.Empty(t, out.Failures)
	require.Len(t, out.Records, 2*4*5*3, "spaces, test tasks, initialisations, methods")
	for _, r := range out.Records {
		require.Equal(t, []int{r.Repeat, 14 - r.Repeat, 5}, r.Rows[:3])
		require.Contains(t, []string{"t08", "t09", "t10", "t11"}, r.Task)
		require.Len(t, r.Regret, 13)
		require.Len(t, r.Rows, min(15, len(tables[0].Tasks[0].X)+len(tables)), "as many as there are")
	}
	s := divided(t, p, tables[0], 0)
	require.Len(t, s.sources, 8, "training and validation tasks")
	for _, src := range s.sources {
		require.Len(t, src.Y, 6)
	}

	delete(tables[0].Task("t10").Initial, "test3")
	_, err = (&Experiment{Protocol: p}).Run(context.Background(), tables, "")
	require.ErrorContains(t, err, `task "t10" has no initialisation "test3"`)
	_, err = (&Experiment{Protocol: p}).Run(context.Background(), []*Table{toyTable(5, 9)}, "")
	require.ErrorContains(t, err, "needs its directory")
}

func TestDigestCoversTheTable(t *testing.T) {
	base := func() *Table {
		table := toyTable(3, 4)
		table.Tasks[0].Initial = map[string][]int{"test0": {1}}
		return table
	}
	digests := map[string]bool{base().info().Digest: true}
	changes := []func(*Table){
		func(t *Table) { t.Tasks[1].Y[2]++ },
		func(t *Table) { t.Tasks[1].X[2][0] /= 2 },
		func(t *Table) { t.Tasks[2].ID = "x" },
		func(t *Table) { t.Tasks[2].Split = "test" },
		func(t *Table) { t.Tasks[0].Initial["test0"][0] = 2 },
		func(t *Table) { t.Tasks = t.Tasks[:2] },
		func(t *Table) { t.Space = "other" },
	}
	for _, change := range changes {
		table := base()
		change(table)
		digests[table.info().Digest] = true
	}
	require.Len(t, slices.Collect(maps.Keys(digests)), 1+len(changes))
	require.Equal(t, base().info(), base().info())
	require.Equal(t, 12, base().info().Rows)
}

func TestSameRows(t *testing.T) {
	grid := gridTable(3, 8)
	require.True(t, grid.sameRows())
	require.False(t, toyTable(3, 8).sameRows())
	grid.Tasks[2].X = slices.Clone(grid.Tasks[2].X)
	slices.Reverse(grid.Tasks[2].X)
	require.True(t, grid.sameRows(), "whatever the order")
	grid.Tasks[2].X[3] = []float64{0.5, 0.5}
	require.False(t, grid.sameRows())
	grid.Tasks[2].X = grid.Tasks[0].X[:7]
	require.False(t, grid.sameRows())
}

// TestPasts: the values of past tasks are changed as the protocol says, and nothing else.
func TestPasts(t *testing.T) {
	table := toyTable(8, 40)
	plain := Protocol{Seed: 1, SourceShare: 0.85, SourceRows: 20}
	was := divided(t, plain, table, 0)
	for _, past := range []string{"negated", "mirrored", "shuffled", "penalized", "compressed", "shifted", "lower", "higher", "small", "large", "mixed"} {
		p := plain
		p.Past = past
		is := divided(t, p, table, 0)
		require.Equal(t, was.targets, is.targets)
		var spread float64
		var all []float64
		for _, s := range was.sources {
			all = append(all, s.Y...)
			spread += slices.Max(s.Y) - slices.Min(s.Y)
		}
		spread /= float64(len(was.sources))
		units := map[float64]bool{}
		for i, s := range is.sources {
			y := was.sources[i].Y
			require.Equal(t, was.sources[i].X, s.X)
			if past == "shuffled" {
				require.NotEqual(t, y, s.Y)
				require.ElementsMatch(t, y, s.Y)
				continue
			}
			factor := (s.Y[1] - s.Y[0]) / (y[1] - y[0])
			units[math.Round(1e9*factor)] = true
			lo, hi, penalties := slices.Min(y), slices.Max(y), 0
			for j, v := range s.Y {
				switch {
				case past == "negated":
					require.Equal(t, -y[j], v)
				case past == "mirrored":
					require.InDelta(t, slices.Max(all)+slices.Min(all)-y[j], v, 1e-12*spread)
				case past == "compressed":
					low, _ := scaling.CompressLow(y, nil)
					require.Equal(t, low[j], v)
				case past == "shifted":
					require.InDelta(t, y[j]-50*spread, v, 1e-12*spread)
				case past == "lower":
					require.InDelta(t, y[j]-3*spread, v, 1e-12*spread)
				case past == "higher":
					require.InDelta(t, y[j]+3*spread, v, 1e-12*spread)
				case past == "small":
					require.InEpsilon(t, y[j]/30, v, 1e-15)
				case past == "large":
					require.Equal(t, 30*y[j], v)
				case past == "mixed":
					require.True(t, factor > 0.1 && factor < 10)
					require.InDelta(t, 0, v-factor*y[j], 3*spread)
					require.InDelta(t, s.Y[0]-factor*y[0], v-factor*y[j], 1e-9*spread)
				case v != y[j]:
					require.Equal(t, lo-1000*(hi-lo), v)
					penalties++
				}
			}
			if past == "penalized" {
				require.Equal(t, 3, penalties, "the lowest of 20 distinct values, and those up to the tenth")
			}
		}
		if past == "mixed" {
			require.Len(t, units, len(is.sources))
		}
	}
	p := protocolOf(t, "quick")
	p.Past = "rosy"
	require.ErrorContains(t, p.Check(), `past "rosy"`)
}
