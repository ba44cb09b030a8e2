package bench

import (
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/rng"
)

// hpobSeeds is the number of HPO-B's fixed initialisations of a test task.
const hpobSeeds = 5

// A runKey names a run, or, without a task, what was learned for runs.
type runKey struct {
	space, method, acquisition string
	clusters, split            int
	task                       string
	repeat                     int
}

func (r *Record) key() runKey {
	return runKey{r.Space, r.Method, r.Acquisition, r.Clusters, r.Split, r.Task, r.Repeat}
}

func (t *Timing) key() runKey {
	return runKey{t.Space, t.Method, t.Acquisition, t.Clusters, t.Split, t.Task, t.Repeat}
}

func (c *Clustering) key() runKey {
	return runKey{space: c.Space, method: c.Method, clusters: c.Clusters, split: c.Split}
}

// A batch is the runs of one repeat that share what is learned of a split: one
// goroutine makes them one after the other.
type batch struct {
	table   *tablePlan
	split   *Split
	methods []*Method // that share it
	key     runKey    // of what is learned
	repeat  int
	lesson  Lesson
	runs    []plannedRun // those still to be made, task by task
	// partitions are the clusterings still to be written down.
	partitions []runKey
}

type plannedRun struct {
	runKey
	method      *Method
	acquisition acq.Func
}

// tablePlan is what the batches of a table share.
type tablePlan struct {
	*Table
	space *cmbo.Space // to learn on
	cube  *cmbo.Space
}

// planner lists the batches of an experiment.
type planner struct {
	p            Protocol
	methods      []*Method
	acquisitions []acq.Func
	tables       []*tablePlan
	splits       [][]*Split // by table
}

// newPlanner divides the tables. p is settled.
func newPlanner(p Protocol, all []Method, tables []*Table) (*planner, error) {
	pl := &planner{p: p}
	for _, list := range [][]string{p.Methods, p.studied()} {
		for _, name := range list {
			m, err := findMethod(all, name)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(pl.methods, m) {
				pl.methods = append(pl.methods, m)
			}
		}
	}
	for _, name := range p.Acquisitions {
		a, err := cmbo.ParseAcquisition(name)
		if err != nil {
			return nil, err
		}
		pl.acquisitions = append(pl.acquisitions, a)
	}
	for _, t := range tables {
		tp := &tablePlan{Table: t}
		var err error
		if tp.cube, err = cmbo.UnitCube(t.Dim); err != nil {
			return nil, err
		}
		tp.space = tp.cube
		if t.sameRows() {
			if tp.space, err = tp.cube.WithCandidates(t.Tasks[0].X); err != nil {
				return nil, err
			}
		}
		splits := make([]*Split, p.Splits)
		for i := range splits {
			if splits[i], err = p.divide(t, i); err != nil {
				return nil, err
			}
		}
		pl.tables = append(pl.tables, tp)
		pl.splits = append(pl.splits, splits)
	}
	return pl, nil
}

// pasts are the changes that a protocol may make to the values of past tasks.
var pasts = map[string]func(y []float64){
	"negated": func(y []float64) {
		for i := range y {
			y[i] = -y[i]
		}
	},
	"penalized": func(y []float64) {
		sorted := slices.Sorted(slices.Values(y))
		lo, hi := sorted[0], sorted[len(y)-1]
		for i, v := range y {
			if v <= sorted[len(y)/10] && v < hi {
				y[i] = lo - 1000*(hi-lo)
			}
		}
	},
	"compressed": func(y []float64) {
		low, _ := scaling.CompressLow(y, nil)
		copy(y, low)
	},
}

// divide makes split i of a table.
func (p *Protocol) divide(t *Table, i int) (*Split, error) {
	plan := SplitPlan{Seed: p.Seed, SourceShare: p.SourceShare, SourceRows: p.SourceRows, Sources: p.Sources}
	var s *Split
	var err error
	if p.Own {
		s, err = plan.own(t, p.Repeats)
	} else {
		s, err = plan.Make(t, i)
	}
	if err != nil {
		return nil, err
	}
	if change := pasts[p.Past]; change != nil {
		for _, t := range s.Sources {
			change(t.Y)
		}
	}
	if p.Targets > 0 {
		s.Targets = s.Targets[:min(p.Targets, len(s.Targets))]
	}
	return s, nil
}

// own returns HPO-B's own division of a table; its targets must have the first
// few initialisations.
func (p SplitPlan) own(t *Table, repeats int) (*Split, error) {
	s := &Split{}
	for j := range t.Tasks {
		task := &t.Tasks[j]
		switch {
		case task.Constant():
		case task.Split == "train" || task.Split == "validation":
			s.Sources = append(s.Sources, p.source(task, 0, j))
		case task.Split == "test":
			for r := range repeats {
				if len(task.Initial[hpobSeed(r)]) == 0 {
					return nil, fmt.Errorf("bench: space %q: task %q has no initialisation %q in %s", t.Space, task.ID, hpobSeed(r), hpobInitial)
				}
			}
			s.Targets = append(s.Targets, task.ID)
		}
	}
	if len(s.Sources) == 0 || len(s.Targets) == 0 {
		return nil, fmt.Errorf("bench: space %q has %d training and validation tasks and %d test tasks that are not constant; HPO-B's own protocol needs its directory", t.Space, len(s.Sources), len(s.Targets))
	}
	return s, nil
}

func hpobSeed(repeat int) string { return fmt.Sprintf("test%d", repeat) }

// initial returns the rows told before the first query.
func (p *Protocol) initial(t *TableTask, split, repeat int) []int {
	if p.Own {
		return t.Initial[hpobSeed(repeat)]
	}
	return InitialRows(p.Seed, t, split, repeat, p.Initial)
}

// runSeed is the seed of a run: the same for every method, other for every run
// of a method.
func (p *Protocol) runSeed(k runKey) uint64 {
	return rng.Stream(p.Seed, "run", uint64(k.split), idHash(k.task), uint64(k.repeat)).Uint64()
}

// batches lists what known does not hold yet in the order in which it is to be
// made, repeat by repeat, so that methods are comparable whenever the experiment
// stops. It also returns how many runs there are in all.
func (pl *planner) batches(known *store) (open []*batch, total int) {
	for repeat := range pl.p.Repeats {
		for i, t := range pl.tables {
			for _, s := range pl.splits[i] {
				for _, g := range pl.groups(s) {
					b, n := pl.batch(t, s, g, repeat, known)
					total += n
					if len(b.runs)+len(b.partitions) > 0 {
						open = append(open, b)
					}
				}
			}
		}
	}
	return open, total
}

// group is methods that share what is learned, and the number of clusters asked
// for, 0 for the protocol's own.
type group struct {
	methods  []*Method
	clusters int
}

// groups lists what is to be learned of a split. Numbers of clusters above that
// of the sources are left out: they stand for it.
func (pl *planner) groups(s *Split) (gs []*group) {
	add := func(m *Method, clusters int) {
		i := slices.IndexFunc(gs, func(g *group) bool { return g.clusters == clusters && g.methods[0].school() == m.school() })
		if i < 0 {
			gs = append(gs, &group{clusters: clusters})
			i = len(gs) - 1
		}
		gs[i].methods = append(gs[i].methods, m)
	}
	for _, m := range pl.methods {
		if slices.Contains(pl.p.Methods, m.Name) {
			add(m, 0)
		}
		if slices.Contains(pl.p.studied(), m.Name) && s.Number < pl.p.StudySplits {
			for _, c := range pl.p.Study {
				if c <= len(s.Sources) {
					add(m, c)
				}
			}
		}
	}
	return gs
}

// batch returns what is still to be done of a batch, and its number of runs.
func (pl *planner) batch(t *tablePlan, s *Split, g *group, repeat int, known *store) (*batch, int) {
	b := &batch{
		table: t, split: s, methods: g.methods, repeat: repeat,
		key:    runKey{space: t.Space, method: g.methods[0].school(), clusters: g.clusters, split: s.Number},
		lesson: Lesson{Space: t.space, Tasks: s.Sources, Seed: pl.p.Seed, Clusters: pl.p.Clusters},
	}
	if g.clusters > 0 {
		b.lesson.Clusters = [2]int{g.clusters, g.clusters}
	}
	n := 0
	for _, id := range s.Targets {
		for _, m := range g.methods {
			last := "none yet"
			for _, a := range pl.acquisitions {
				r := plannedRun{b.of(m), m, a}
				r.task, r.repeat = id, repeat
				var suits bool
				if r.runKey.acquisition, suits = m.acquisitionOf(a); !suits || r.runKey.acquisition == last {
					continue
				}
				last = r.runKey.acquisition
				n++
				if !known.hasRun(r.runKey) {
					b.runs = append(b.runs, r)
				}
			}
		}
	}
	for _, m := range g.methods {
		if !m.Clusters || repeat > 0 {
			continue
		}
		lo, hi := min(b.lesson.Clusters[0], len(s.Sources)), min(b.lesson.Clusters[1], len(s.Sources))
		for c := lo; c <= hi; c++ {
			k := b.of(m)
			k.clusters = c
			if !known.hasClustering(k) {
				b.partitions = append(b.partitions, k)
			}
		}
	}
	return b, n
}

// of names what the batch's lesson is to one of its methods.
func (b *batch) of(m *Method) runKey {
	k := b.key
	k.method = m.Name
	return k
}

// sameRows reports whether all tasks of the table have the same configurations,
// in any order.
func (t *Table) sameRows() bool {
	seen := make(map[string]bool, len(t.Tasks[0].X))
	for _, x := range t.Tasks[0].X {
		seen[points.Key(x)] = true
	}
	for i := range t.Tasks {
		if len(t.Tasks[i].X) != len(seen) {
			return false
		}
		for _, x := range t.Tasks[i].X {
			if !seen[points.Key(x)] {
				return false
			}
		}
	}
	return true
}
