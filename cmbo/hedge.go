package cmbo

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// A Hedger is a [Mixture] that can leave the past out. With [EI], while evaluations do not
// improve on the best value, some proposals are not those of its scores: in turns they are
// as far as can be from all points asked for, and those of ScoreWithoutTransfer. So a past
// that is wrong about where the best point lies cannot hold up a run for good. Surrogates
// from outside that are no Hedger are always followed.
type Hedger interface {
	Mixture
	// ScoreWithoutTransfer does what Score of [Scorer] does, as if there were no past task.
	ScoreWithoutTransfer(ctx context.Context, dst []float64, x *linalg.Dense, f acq.Func, best float64) error
}

// A judge is what a proposal is chosen by.
type judge uint8

const (
	byModel     judge = iota // the scores of the model
	byDistance               // the distance from all points asked for
	withoutPast              // the scores of the model without transfer
)

// A hedge says when another judge chooses: from so many evaluations without an improvement
// on, every so many proposals.
type hedge struct{ after, every int }

// Most runs that do not improve any more have found the best there is, and questions that
// a good past would not ask are lost to them: half of all cost a tenth of the area under the
// regret curve, a fifth some 3 % (hpob -ablate hedge-half,no-hedge). A past that the values
// contradict is not worth more than every second question.
var (
	trustedHedge = hedge{after: 3, every: 5}
	doubtedHedge = hedge{after: 1, every: 2}
)

// trustedMass is the mass of the hypotheses that take something over from the past, right
// way up, from which on it is trusted. A run without a past has nothing to doubt.
const trustedMass = 0.8

// judge returns who chooses the next point. It follows from the log and from the masses
// that its values leave, so that a restored run asks the same. Open trials count as
// proposals that did not improve, so that a batch has all judges.
func (o *draft) judge() judge {
	if !o.hedges() {
		return byModel
	}
	s := trustedHedge
	past := o.model.hedger()
	if past != nil {
		if up, _ := (Transfer{Shares: past.Shares()}).upright(); up < trustedMass {
			s = doubtedHedge
		}
	}
	stalled := o.h.Stalled(o.config.minimize)
	if stalled < s.after {
		return byModel
	}
	switch n := stalled - s.after + len(o.h.Pending()); {
	case n%s.every != 0:
		return byModel
	case past == nil || len(o.h.Observations) == 0 || n/s.every%2 == 0:
		return byDistance
	}
	return withoutPast
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

// hedges reports whether other judges are ever asked: where improvement is what is asked
// for, of a model that can do without the past or of the library's own without one.
func (o *draft) hedges() bool {
	if o.config.acquisition != EI() {
		return false
	}
	return o.model.hedger() != nil || o.config.surrogate == nil && o.config.prior == nil
}
