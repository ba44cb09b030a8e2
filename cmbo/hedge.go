package cmbo

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/linalg"
)

// A judge is what a proposal is chosen by.
type judge uint8

const (
	byModel     judge = iota // the scores of the model
	byDistance               // the distance from all points asked for, or a draw by it
	withoutPast              // the scores of the model without transfer
)

// judge returns who chooses the next point, so that a past or a model that is wrong about where the best point lies cannot
// hold up a run for good: [hierarchy.Hedge] says how often. It follows from the log and from the masses that its values
// leave, so that a restored run asks the same. Once enough evaluations have not improved, open trials count as further ones,
// so that a batch has all judges. Where the past is doubted, the model's own scores hardly follow it. A model from outside is
// always followed.
func (o *draft) judge() judge {
	when, past := o.settings.Hedge.Trusted, as[*hierarchicalRun](o.model)
	if o.config.acquisition != EI() || o.config.surrogate != nil { // improvement has to be what is asked for
		return byModel
	}
	beyond, alike := o.beyond()
	if alike {
		return byDistance
	}
	trusted, stalled := false, o.h.Stalled(o.config.minimize)
	switch {
	case len(o.h.Observations) == 0 && past == nil:
		when = [2]int{1, 1}
	case len(o.h.Observations) == 0:
		when = o.settings.Hedge.Failing
	case beyond > 0:
		when, stalled = o.settings.Hedge.Beyond, beyond
	case past == nil:
		when = o.settings.Hedge.Alone
	default:
		up, down := (Transfer{Hypotheses: past.Hypotheses()}).upright()
		trusted = max(up, down) >= o.settings.Hedge.Trust && !o.tied()
		if !trusted && past.Outgrown() {
			when = o.settings.Hedge.Alone // a hypothesis is what a run without a past goes by
		} else if !trusted {
			when = o.settings.Hedge.Doubted
		}
	}
	after, every := when[0], when[1]
	if every == 0 || stalled < after {
		return byModel
	}
	switch n := stalled - after + len(o.h.Pending()); {
	case n%every != 0:
		return byModel
	case trusted && o.settings.Hedge.WithoutPast && n/every%2 == 1:
		return withoutPast
	}
	return byDistance
}

// beyond returns how many values an output has at most of which none holds its limits. It also reports whether there is one
// of which no past task tells and whose values are all the same, as those of a flag and a time-out are: nothing says where it
// holds its limits, and improvement leads wherever the objective is best.
func (o *draft) beyond() (values int, alike bool) {
	for _, r := range o.requirements {
		if m, ok := r.(*outputModel); ok {
			_, raw := o.h.EncodedOutput(m.output.Name)
			if !slices.ContainsFunc(raw, func(v float64) bool { return m.output.Beyond(v) == 0 }) {
				values, alike = max(values, len(raw)), alike || len(raw) > 0 && m.unscaled(raw)
			}
		}
	}
	return values, alike
}

// tied reports whether proposals since the one of the best value have brought that value so
// often that it is what the past's best region has here, and more of them would confirm nothing.
func (o *draft) tied() bool {
	best := o.h.Best(o.config.minimize)
	if best < 0 || o.settings.Hedge.Ties == 0 {
		return false
	}
	ties := each.Count(o.h.Observations[best+1:], func(v runlog.Observation) bool {
		return v.Trial > 0 && v.Y == o.h.Observations[best].Y
	})
	return ties >= o.settings.Hedge.Ties
}

// distances sets dst to the distances of the rows of x from the nearest of the points seen.
func distances(dst []float64, x, seen *linalg.Dense) {
	for i := range dst {
		least := math.Inf(1)
		for j := range points.Len(seen) {
			least = min(least, linalg.SqDist(x.Row(i), seen.Row(j)))
		}
		dst[i] = math.Sqrt(least)
	}
}

// drawByDistance turns distances into scores, the largest of which is that of each row with a probability in proportion to
// the square of its distance, as k-means++ draws centres (Arthur and Vassilvitskii, SODA 2007). The farthest rows of a space
// of many coordinates lie in its corners and on its borders, and have choices that no past task thinks much of.
func drawByDistance(distances []float64, r *rand.Rand) {
	for i, d := range distances {
		distances[i] = d * d / r.ExpFloat64()
	}
}
