package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
)

// A workload is one task of a problem: a positive cost of each setting, to be
// minimised, and whether the evaluation succeeds.
type workload interface {
	cost(row []float64) (v float64, ok bool)
}

// A problem is a family of workloads on one space.
type problem struct {
	name  string
	space func() (*cmbo.Space, error)
	draw  func(*rand.Rand) workload
}

var problems = []problem{
	{"server", serverSpace, func(r *rand.Rand) workload { return newJob(r) }},
	{"training", trainingSpace, func(r *rand.Rand) workload { return newTraining(r) }},
	{"reactor", reactorSpace, func(r *rand.Rand) workload { return newReactor(r) }},
}

func pick(name string) (*problem, error) {
	for i := range problems {
		if problems[i].name == name {
			return &problems[i], nil
		}
	}
	var known []string
	for _, p := range problems {
		known = append(known, p.name)
	}
	return nil, fmt.Errorf("no problem %q among %s", name, strings.Join(known, ", "))
}

// optimum returns the least cost that a long search of the settings finds.
func optimum(w workload, s *cmbo.Space, r *rand.Rand) (float64, error) {
	best, at := math.Inf(1), []float64(nil)
	const draws, steps = 4000, 4000
	u := make([]float64, s.Dim())
	for i := range draws + steps {
		for k := range u {
			u[k] = r.Float64()
			if i >= draws {
				u[k] = min(max(at[k]+0.1*math.Exp2(-float64(10*(i-draws)/steps))*r.NormFloat64(), 0), 1)
			}
		}
		row, err := s.Decode(u)
		if err != nil {
			return 0, err
		}
		if v, ok := w.cost(row); ok && v < best {
			best, at = v, append([]float64(nil), u...)
		}
	}
	return best, nil
}

// A training is a simulated neural network on one data set. It diverges where its
// steps are too long, which is little above where it learns best, and does not fit
// in memory where layers are wide and batches large.
type training struct {
	limit  float64 // longest step of a layer of 256 that does not diverge
	near   float64 // best step, a share of the longest one
	memory float64 // millions of numbers
	need   float64 // width that the data ask for
	batch  float64 // above which larger batches are of no use
	decay  float64 // best weight decay
	floor  float64 // error of the best network there is
	steep  float64 // what a step ten times too short costs
}

func trainingSpace() (*cmbo.Space, error) {
	return cmbo.NewSpace(
		cmbo.LogFloat("rate", 1e-5, 1),
		cmbo.Float("momentum", 0, 0.99),
		cmbo.LogInt("batch", 8, 4096),
		cmbo.LogInt("width", 16, 4096),
		cmbo.LogFloat("decay", 1e-6, 0.1),
	)
}

func newTraining(r *rand.Rand) *training {
	log := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, r.Float64()) }
	return &training{
		limit: log(0.03, 1), near: log(0.2, 0.8), memory: log(1, 16), need: log(64, 2048), batch: log(32, 1024),
		decay: log(1e-5, 1e-2), floor: log(0.02, 0.2), steep: log(0.03, 0.2),
	}
}

// cost returns the error of a setting, false where training fails.
func (t *training) cost(row []float64) (float64, bool) {
	rate, momentum, batch, width, decay := row[0], row[1], row[2], row[3], row[4]
	if (3*width*width+20*batch*width)/1e6 > t.memory {
		return 0, false
	}
	step := rate / (1 - momentum)
	longest := t.limit * math.Sqrt(256/width) * math.Sqrt(batch/(batch+t.batch))
	if step > longest {
		return 0, false
	}
	off := math.Log10(step / (t.near * longest))
	wide := math.Log2(width / t.need)
	v := t.floor + t.steep*off*off
	v += 0.01*math.Max(0, -wide)*math.Max(0, -wide) + 0.004*math.Max(0, wide)
	v += 0.01 * math.Max(0, math.Log2(batch/t.batch))
	d := math.Log10(decay / t.decay)
	return math.Min(v+0.01*d*d, 0.9), true
}

// A reactor is a smooth random cost with one trough, and fails in a region whose
// border takes no account of the cost: next to it costs are as low as anywhere.
// Reactors have a part of both in common.
type reactor struct {
	trough, border []float64
	waves          []wave
	depth, share   float64
}

type wave struct {
	at    []float64
	phase float64
}

const reactorDim = 4

func reactorSpace() (*cmbo.Space, error) {
	return cmbo.NewSpace(cmbo.Float("heat", 0, 1), cmbo.Float("pressure", 0, 1), cmbo.Float("flow", 0, 1),
		cmbo.Float("feed", 0, 1))
}

func newReactor(r *rand.Rand) *reactor {
	q := &reactor{depth: 1 + 2*r.Float64(), share: 0.3 * r.NormFloat64()}
	common, side := [reactorDim]float64{0.65, 0.6, 0.4, 0.5}, [reactorDim]float64{1, 0.8, -0.3, 0.2}
	for k := range reactorDim {
		q.trough = append(q.trough, common[k]+0.12*r.NormFloat64())
		q.border = append(q.border, side[k]+0.25*r.NormFloat64())
	}
	for range 6 {
		w := wave{phase: 2 * math.Pi * r.Float64()}
		for range reactorDim {
			w.at = append(w.at, 4*r.NormFloat64())
		}
		q.waves = append(q.waves, w)
	}
	return q
}

// cost returns the cost of a setting, false where the reactor stops.
func (q *reactor) cost(row []float64) (float64, bool) {
	var far, side, ripple float64
	for k, x := range row {
		far += (x - q.trough[k]) * (x - q.trough[k])
		side += q.border[k] * (x - 0.5)
	}
	for i, w := range q.waves {
		s := w.phase
		for k, x := range row {
			s += w.at[k] * x
		}
		if i < 3 {
			ripple += math.Sin(s)
		} else {
			side += 0.05 * math.Sin(s)
		}
	}
	if side > 0.15+0.3*q.share {
		return 0, false
	}
	return math.Exp(q.depth*far + 0.1*ripple), true
}
