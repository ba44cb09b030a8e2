package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/rng"
)

// A split divides a table's tasks into sources to learn from and targets to tune.
type split struct {
	sources []cmbo.Task // the observations to learn from
	targets []string    // the IDs of the tasks to tune, sorted
}

// divide makes split i of a table. Constant tasks are left out on both sides: they rank nothing and have no regret.
func (p *Protocol) divide(t *Table, i int) (*split, error) {
	draw := p.drawn
	if p.Own {
		draw = p.own
	}
	s, err := draw(t, i)
	if err != nil {
		return nil, err
	}
	if change := pasts[p.Past]; change != nil {
		e := extent{lo: math.Inf(1), hi: math.Inf(-1)}
		for _, t := range s.sources {
			lo, hi := slices.Min(t.Y), slices.Max(t.Y)
			e.lo, e.hi, e.spread = min(e.lo, lo), max(e.hi, hi), e.spread+(hi-lo)/float64(len(s.sources))
		}
		for _, t := range s.sources {
			e.draw = rng.Stream(p.Seed, "past values", uint64(i), idHash(t.ID))
			change(t.Y, e)
		}
	}
	if p.Targets > 0 {
		s.targets = s.targets[:min(p.Targets, len(s.targets))]
	}
	return s, nil
}

// An extent is that of the values of all past tasks: their range, and the mean of the tasks' own.
type extent struct {
	lo, hi, spread float64
	draw           *rand.Rand // of the task whose values are changed
}

// pasts are the changes that a protocol may make to the values of a past task.
var pasts = map[string]func(y []float64, e extent){
	"negated": moved(-1, 0),
	"mirrored": func(y []float64, e extent) {
		for i := range y {
			y[i] = e.lo + (e.hi - y[i])
		}
	},
	"shuffled": func(y []float64, e extent) {
		e.draw.Shuffle(len(y), func(i, j int) { y[i], y[j] = y[j], y[i] })
	},
	"small":   moved(1./30, 0),
	"large":   moved(30, 0),
	"shifted": moved(1, -50),
	"lower":   moved(1, -3),
	"higher":  moved(1, 3),
	"mixed": func(y []float64, e extent) {
		factor, ranges := math.Pow(10, 2*e.draw.Float64()-1), 6*e.draw.Float64()-3
		moved(factor, ranges)(y, e)
	},
	"penalized": func(y []float64, _ extent) {
		sorted := slices.Sorted(slices.Values(y))
		lo, hi := sorted[0], sorted[len(y)-1]
		for i, v := range y {
			if v <= sorted[len(y)/10] && v < hi {
				y[i] = lo - 1000*(hi-lo)
			}
		}
	},
	"compressed": func(y []float64, _ extent) {
		low, _ := scaling.CompressLow(y, nil)
		copy(y, low)
	},
}

// moved multiplies values by a factor and adds so many ranges.
func moved(factor, ranges float64) func(y []float64, e extent) {
	return func(y []float64, e extent) {
		for i := range y {
			y[i] = factor*y[i] + ranges*e.spread
		}
	}
}

// drawn divides a table at random. It fails if fewer than two tasks are not constant.
func (p *Protocol) drawn(t *Table, i int) (*split, error) {
	usable := each.Where(len(t.Tasks), func(j int) bool { return !t.Tasks[j].Constant() })
	if len(usable) < 2 {
		return nil, fmt.Errorf("%w: space %q has %d tasks that are not constant, need 2", cmbo.ErrTask, t.Space, len(usable))
	}
	r := rng.Stream(p.Seed, "split", uint64(i))
	r.Shuffle(len(usable), func(a, b int) { usable[a], usable[b] = usable[b], usable[a] })
	n := min(max(int(math.Round(p.SourceShare*float64(len(usable)))), 1), len(usable)-1)
	sources := usable[:n]
	if p.Sources > 0 {
		sources = sources[:min(p.Sources, n)]
	}
	slices.Sort(sources)
	s := &split{
		sources: each.Of(sources, func(j int) cmbo.Task { return p.source(&t.Tasks[j], i, j) }),
		targets: each.Of(usable[n:], func(j int) string { return t.Tasks[j].ID }),
	}
	slices.Sort(s.targets)
	return s, nil
}

// hpobSeeds is the number of HPO-B's fixed initialisations of a test task.
const hpobSeeds = 5

func hpobSeed(repeat int) string { return fmt.Sprintf("test%d", repeat) }

// own returns HPO-B's own division of a table; its targets must have as many initialisations as there are repeats.
func (p *Protocol) own(t *Table, _ int) (*split, error) {
	s := &split{}
	for j := range t.Tasks {
		task := &t.Tasks[j]
		switch {
		case task.Constant():
		case task.Split == "train" || task.Split == "validation":
			s.sources = append(s.sources, p.source(task, 0, j))
		case task.Split == "test":
			for r := range p.Repeats {
				if len(task.Initial[hpobSeed(r)]) == 0 {
					return nil, fmt.Errorf("%w: space %q: task %q has no initialisation %q in %s",
						cmbo.ErrTask, t.Space, task.ID, hpobSeed(r), hpobInitial)
				}
			}
			s.targets = append(s.targets, task.ID)
		}
	}
	if len(s.sources) == 0 || len(s.targets) == 0 {
		return nil, fmt.Errorf("%w: space %q has %d training and validation tasks and %d test tasks that are not constant; "+
			"HPO-B's own protocol needs its directory", cmbo.ErrTask, t.Space, len(s.sources), len(s.targets))
	}
	return s, nil
}

// source draws the observations of a source task.
func (p *Protocol) source(t *TableTask, split, task int) cmbo.Task {
	rows := rng.Stream(p.Seed, "source rows", uint64(split), uint64(task)).Perm(len(t.X))
	rows = rows[:min(p.SourceRows, len(rows))]
	return cmbo.Task{ID: t.ID, X: points.Entries(t.X, rows), Y: points.Entries(t.Y, rows)}
}

// initial returns the rows of a target that are told before the first query of a run: the
// same for every method. A task with fewer rows than the protocol asks for gives all.
func (p *Protocol) initial(t *TableTask, split, repeat int) []int {
	if p.Own {
		return t.Initial[hpobSeed(repeat)]
	}
	rows := rng.Stream(p.Seed, "initial", uint64(split), idHash(t.ID), uint64(repeat)).Perm(len(t.X))
	return rows[:min(p.Initial, len(rows))]
}

// idHash makes a number of a task's ID, to name random streams by.
func idHash(id string) (h uint64) {
	for _, b := range []byte(id) {
		h = h*131 + uint64(b)
	}
	return h
}
