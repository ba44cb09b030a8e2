package cmbo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/names"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// Level is how much of the past a hypothesis on the new task takes over.
type Level uint8

// The levels.
const (
	LevelNone       Level = iota // nothing of what past tasks were like: no transfer
	LevelPopulation              // what all of them have in common
	LevelCluster                 // what the tasks of a cluster have in common, a single one or more
)

var levelNames = [...]string{"no transfer", "population", "cluster"}

// String returns "no transfer", "population" or "cluster".
func (l Level) String() string { return names.Of(levelNames[:], int(l), "Level") }

// MarshalText returns what String does, for JSON.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// A Hypothesis says what the new task may be like, and how probable that is.
type Hypothesis struct {
	Level Level
	// Cluster is the ID of the cluster, -1 at other levels.
	Cluster int
	// Tasks are the IDs of the tasks of the cluster.
	Tasks []string
	// Mass is the posterior probability of the hypothesis, or the weight of the prototype; those of all add up to 1.
	Mass float64
	// Reversed is the part of Mass under which the hypothesis holds upside down: where values were high they are low. At
	// LevelNone it means nothing.
	Reversed float64
}

// String names the hypothesis and its mass, such as "cluster 2 (tasks a, b) 93 %".
func (h Hypothesis) String() string {
	return fmt.Sprintf("%s %.0f %%", h.name(), 100*h.Mass)
}

// some lists the first n IDs of tasks.
func some(ids []string, n int) string {
	if more := len(ids) - n; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:n], ", "), more)
	}
	return strings.Join(ids, ", ")
}

func (h Hypothesis) name() string {
	switch h.Level {
	case LevelPopulation:
		return "what all tasks have in common"
	case LevelCluster:
		noun := "tasks"
		if len(h.Tasks) == 1 {
			noun = "task"
		}
		return fmt.Sprintf("cluster %d (%s %s)", h.Cluster, noun, some(h.Tasks, 3))
	}
	return h.Level.String()
}

// Verdict says whether the past helps a run.
type Verdict uint8

// The verdicts on transfer. Unless said otherwise a percentage is the mass of the hypotheses that transfer,
// right way up; "ranks" means a rank correlation of at least the deviation that chance gives it, and of twice that
// if past tasks look like noise: if noise is .9 of their variance, or none of them has two different values.
const (
	// TransferUnknown: there is no prior, or a model that does not weigh it against no
	// transfer, such as that of package cmbo/paper.
	TransferUnknown Verdict = iota
	// TransferTooEarly: fewer than 5 values were told, or all are equal.
	TransferTooEarly
	// TransferHelps: at least 90 % of the mass. Past tasks that look like noise have to rank the evaluated points, too.
	TransferHelps
	// TransferUnclear: more than 25 % and less than 90 %, or less although the past was of use. It was of use if the
	// population ranks the evaluated points as their values do. It also was if it so ranks their better half, or all of them
	// upside down, or if past evaluations failed and fewer of the run's did than of random points would, by the deviation
	// that chance gives their number; and the run came to good values sooner than chance: the sum of its regrets up to each
	// value is less than 1/1.3 of that of points drawn at random, if each of these had the value of the nearest evaluated
	// point, and failed, if past ones did, with the probability that the model of success gives it. A past that looks like
	// noise neither misleads nor is upside down.
	TransferUnclear
	// TransferMisleads: at most 25 %, and the past was of no such use. The new task is like no past
	// task, or the mass is divided between that and a reversed past.
	TransferMisleads
	// TransferReversed: at least 75 % of the mass says that what was good there is bad here, as with
	// losses taken for scores, and the past does not rank the evaluated points as their values do. The run
	// uses the past reversed, but its first evaluations would have been better with the values turned over.
	TransferReversed
)

// The verdicts' thresholds.
const (
	verdictValues = 5
	helpingMass   = 0.9
	misleadMass   = 0.25
	clearRanks    = 1 - 1e-9 // deviations of a rank correlation by chance
	clearlySooner = 1.3      // times as much regret at random
	chancePoints  = 1000     // of a parameter space, by which shares of it are taken
)

var verdictNames = [...]string{"unknown", "too early to tell", "transfer helps", "unclear", "the past misleads", "the past is upside down"}

// String returns "unknown", "too early to tell", "transfer helps", "unclear", "the past
// misleads" or "the past is upside down".
func (v Verdict) String() string { return names.Of(verdictNames[:], int(v), "Verdict") }

// MarshalText returns what String does, for JSON.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Transfer says what the run has found out about the worth of the past.
type Transfer struct {
	Verdict Verdict
	// Values is the number of values told, from which the masses follow.
	Values int
	// Hypotheses are the hypotheses on the new task that the model weighs, largest first: no
	// transfer and the population, or those of a [Mixture]. Nil without a prior.
	Hypotheses []Hypothesis
	// OtherUnits is the probability that the values are out of all proportion to the past's, as values in other units
	// are. If they rank points as the past did, the past is worth no less.
	OtherUnits float64
	// Outputs holds the same for the model of each output with a limit, and of the cost, by name; nil if there is none.
	Outputs map[string]Transfer
	// Relation says what descriptors are worth in a run [WithContext]: for an output what they say of the level of its
	// values, or else of their shape; nil in other runs.
	Relation *Relation

	others    []string // of an output that no past task has: those that they have
	foreign   []string // in words, which descriptors of use are none of the past's, of outputs' models, too
	misfit    string   // of an output, how its limits do not fit what past tasks have
	silent    bool     // the past looks like noise, or its tasks have next to nothing in common
	agreement float64  // how the past ranks the points told: see ranks
	better    int      // 1 where it ranks the better half of them so, else -1 where it ranks all of them upside down
	sooner    bool     // the run came to good values sooner than chance does, by this or, where it is 0, by fewer failures
}

// Mass returns the mass of a level, and the part of it under which the past holds upside down, which means nothing
// for LevelNone.
func (t Transfer) Mass(l Level) (mass, reversed float64) {
	for _, s := range t.Hypotheses {
		if s.Level == l {
			mass += s.Mass
			reversed += s.Reversed
		}
	}
	return mass, reversed
}

// upright returns the mass of the hypotheses that take something over, right way up, and that of those that hold upside down.
func (t Transfer) upright() (mass, reversed float64) {
	for l := range Level(len(levelNames)) {
		if l != LevelNone {
			m, r := t.Mass(l)
			mass, reversed = mass+m-r, reversed+r
		}
	}
	return mass, reversed
}

// String says it in words, such as "transfer helps: 97 % of the mass lies on the past, 97 % on
// what all tasks have in common".
func (t Transfer) String() string {
	text := t.words(badHere)
	for _, name := range slices.Sorted(maps.Keys(t.Outputs)) {
		switch of := t.Outputs[name]; {
		case of.Hypotheses != nil:
			text += "; of " + name + " " + of.words(smallHere)
			if of.Relation != nil && of.Relation.Descriptors != nil {
				text += ", and " + of.Relation.String()
			}
			if of.misfit != "" {
				text += ", and " + of.misfit
			}
		case of.others != nil:
			text += fmt.Sprintf("; of %s past tasks tell nothing: their outputs are %q", name, of.others)
		}
	}
	if t.Relation != nil {
		text += "; " + t.Relation.String()
	}
	return strings.Join(append([]string{text}, t.foreign...), "; ")
}

// words says it of the objective, or of one output, a reversed past in the words given.
func (t Transfer) words(reversed string) string {
	text := t.verdictWords(reversed)
	if t.OtherUnits > 0.5 {
		text += "; the values lie out of all proportion to the past's: they may be in other units"
	}
	return text
}

// What masses say.
const (
	unlikeAny = "that no past task is like this one"
	badHere   = "that what was good there is bad here"
	smallHere = "that what was large there is small here" // of an output, which is not good or bad by itself
)

func (t Transfer) verdictWords(reversed string) string {
	if len(t.Hypotheses) == 0 {
		return "unknown: there is no past to transfer from, or the model does not say"
	}
	up, down := t.upright()
	none, _ := t.Mass(LevelNone)
	switch t.Verdict {
	case TransferUnknown:
		return fmt.Sprintf("unknown: the model does not weigh the past against no transfer; the largest weight is "+
			"that of %s", t.Hypotheses[0])
	case TransferTooEarly:
		if t.Values >= verdictValues {
			return fmt.Sprintf("too early to tell whether the past helps: all of %d values are equal", t.Values)
		}
		return fmt.Sprintf("too early to tell whether the past helps: %d of %d values", t.Values, verdictValues)
	case TransferHelps:
		largest := t.Hypotheses[max(slices.IndexFunc(t.Hypotheses, func(h Hypothesis) bool { return h.Level != LevelNone }), 0)]
		return fmt.Sprintf("transfer helps: %.0f %% of the mass lies on the past, %.0f %% on %s",
			100*up, 100*(largest.Mass-largest.Reversed), largest.name())
	case TransferReversed:
		return fmt.Sprintf("the past is upside down: %.0f %% of the mass says "+reversed+", and the run goes by that", 100*down)
	case TransferMisleads:
		if down > none {
			return fmt.Sprintf("the past misleads: %.0f %% of the mass says "+reversed+", %.0f %% "+unlikeAny, 100*down, 100*none)
		}
		return fmt.Sprintf("the past misleads: %.0f %% of the mass says "+unlikeAny+", %.0f %% "+reversed, 100*none, 100*down)
	}
	if t.sooner {
		by := "the past ranks them as they are"
		switch {
		case t.better < 0:
			by = "the past upside down ranks them as they are"
		case t.better == 0:
			by = "less of it failed than would at random, given where past evaluations failed"
		}
		return fmt.Sprintf("unclear: the run came to good values sooner than chance does, and %s, "+
			"but %.0f %% of the mass says "+unlikeAny+", %.0f %% "+reversed, by, 100*none, 100*down)
	}
	shows := ""
	if t.silent && !t.ranked() {
		shows = "past tasks show nothing of where values are good, "
	} else if up <= misleadMass {
		return fmt.Sprintf("unclear: the past ranks the points told as their values do, but %.0f %% of the mass says "+
			"that their differences are not the past's", 100*(none+down))
	}
	return fmt.Sprintf("unclear: %s%.0f %% of the mass lies on the past, %.0f %% says "+unlikeAny+", %.0f %% "+reversed,
		shows, 100*up, 100*none, 100*down)
}

// Transfer says whether the past helps: the masses of the hypotheses after the values told so far,
// and a verdict on them. The masses that a run begins with are a guess, and a verdict after few values
// is uncertain. Open and failed trials do not count. It takes the time of [Optimizer.Predict], and
// fails with [ErrNumerical] if the model cannot be conditioned on the data, or with ctx.Err().
func (o *Optimizer) Transfer(ctx context.Context) (Transfer, error) {
	return withFitted(ctx, o, func(present *draft, d Data, _ *scaling.Values) (Transfer, error) {
		return present.transfer(ctx, d)
	})
}

// transfer sums up what the models have found out, that of the objective from d.
func (o *draft) transfer(ctx context.Context, d Data) (Transfer, error) {
	told, rows := observed(d)
	t, err := o.model.transfer(d.Y, told)
	if err != nil {
		return t, err
	}
	if t.Verdict == TransferMisleads {
		space := o.everywhere(chancePoints, "verdict")
		var succeeds []float64
		led := t.better != 0
		if p := o.config.prior; p != nil && p.success != nil {
			if succeeds, err = o.requirements[success].(*successRequirement).probability(ctx, o, space); err != nil {
				return t, err
			}
			led = led || fewer(o.h.Failures, o.h.Ended(), 1-stat.Sum(succeeds)/float64(len(succeeds)))
		}
		if led {
			y := scaling.RaiseLow(among(d.Y, told), 0)
			regret, random := regrets(points.Pick(d.X, rows), y, o.h.FailedBefore(), space, succeeds)
			if t.sooner = clearlySooner*regret < random; t.sooner {
				t.Verdict = TransferUnclear
			}
		}
	}
	relate := func(m *hierarchy.Model) (*Relation, error) {
		l, err := m.Likeness(ctx, o.config.parallelism)
		if l != nil {
			foreign := l.Foreign(o.config.context)
			t.foreign = append(t.foreign, slices.DeleteFunc(foreign, func(w string) bool { return slices.Contains(t.foreign, w) })...)
		}
		r := relationOf(l)
		return &r, gp.Marked(ctx, err)
	}
	if o.config.context != nil {
		if t.Relation, err = relate(o.config.prior.learned); err != nil {
			return t, err
		}
	}
	for _, m := range o.outputs {
		if t.Outputs == nil {
			t.Outputs = make(map[string]Transfer)
		}
		_, told := o.h.EncodedOutput(m.output.Name)
		of := Transfer{Values: len(told)}
		f, ok, err := m.fit(ctx, o, false)
		if err == nil && ok {
			of, err = m.model.transfer(f.scale.Z, nil)
		}
		if err != nil {
			return t, err
		}
		if m.past != nil {
			of.misfit = misfit(m.output, slices.Concat(each.Of(m.past.model.Tasks(), m.past.values)...))
		}
		if p := o.config.prior; m.past == nil && p != nil {
			of.others = p.Outputs()
		} else if p != nil && o.config.context != nil {
			if of.Relation, err = relate(m.past.model); err != nil {
				return t, err
			}
		}
		t.Outputs[m.output.Name] = of
	}
	return t, nil
}

// fewer reports whether fewer of n evaluations failed, by the deviation that chance gives their number, than of random points
// of which so large a share fails.
func fewer(failed, n int, failing float64) bool {
	expected := float64(n) * failing
	return expected-float64(failed) > math.Sqrt(expected*(1-failing))
}

// transfer sums up what the model has found out from values, those of all that told marks, or all of them where it is nil.
func (m consulted) transfer(all []float64, told []bool) (Transfer, error) {
	y := among(all, told)
	t := Transfer{Values: len(y)}
	x := as[Mixture](m)
	if x == nil {
		return t, nil
	}
	if r := as[*hierarchicalRun](m); r != nil {
		common, _ := r.Model.SharedMean()
		t.OtherUnits, t.silent = r.OtherUnits(), r.Model.LooksLikeNoise() || hierarchy.NothingShared(common)
	}
	t.Hypotheses = x.Hypotheses()
	slices.SortStableFunc(t.Hypotheses, func(a, b Hypothesis) int { return cmp.Compare(b.Mass, a.Mass) })
	if !slices.ContainsFunc(t.Hypotheses, func(h Hypothesis) bool { return h.Level == LevelNone }) {
		return t, nil
	}
	if mean := x.PriorMean(); mean != nil && t.Values >= verdictValues {
		if len(mean) != len(all) {
			return t, fmt.Errorf("%w: %T.PriorMean: %d numbers for %d points", ErrNumerical, m.Surrogate, len(mean), len(all))
		}
		mean = among(mean, told)
		t.agreement = ranks(mean, y)
		if half := better(y); ranks(among(mean, half), among(y, half)) >= clearRanks {
			t.better = 1
		} else if t.agreement <= -clearRanks {
			t.better = -1
		}
	}
	t.Verdict = t.verdict(y)
	return t, nil
}

// ranks returns how a mean ranks values: the correlation of their normal scores, 0 if all of one are equal, in the deviations
// that chance gives it.
func ranks(mean, y []float64) float64 {
	n := float64(len(y))
	return linalg.Dot(ZScore.Apply(Copula.Apply(y)), ZScore.Apply(Copula.Apply(mean))) / n * math.Sqrt(n-1)
}

// better says which values are at least their median.
func better(y []float64) []bool {
	median := slices.Sorted(slices.Values(y))[len(y)/2]
	return each.Of(y, func(v float64) bool { return v >= median })
}

// ranked reports whether the past ranks the points told as their values do. Chance alone has one in six do so by a deviation.
func (t Transfer) ranked() bool {
	clearly := clearRanks
	if t.silent {
		clearly *= 2
	}
	return t.agreement >= clearly
}

// verdict judges masses of hypotheses among which no transfer is one, after values y.
func (t Transfer) verdict(y []float64) Verdict {
	switch up, down := t.upright(); {
	case t.Values < verdictValues || !distinct(y):
		return TransferTooEarly
	case up >= helpingMass && (t.ranked() || !t.silent):
		return TransferHelps
	case down >= 1-misleadMass && !t.ranked() && !t.silent:
		return TransferReversed
	case up <= misleadMass && !t.ranked() && !t.silent:
		return TransferMisleads
	}
	return TransferUnclear
}

// regrets returns what the best of the values y, told one after the other at the rows of x, lacked to the best of all after
// each evaluation, failures before each value among them, summed up, and what it is expected to be of as many points drawn at
// random from a space, if each has the value of the nearest row, of the first of those as near, with its probability of
// success: always if that is nil. What failed has the lowest value.
func regrets(x *linalg.Dense, y []float64, failed []int, space *linalg.Dense, succeeds []float64) (regret, random float64) {
	share := make([]float64, len(y)) // of the space, that each row is nearest to
	var below float64                // share of the space up to a value: its n-th power is that of n draws
	for i := range points.Len(space) {
		var nearest int
		least := math.Inf(1)
		for j := range y {
			if d := linalg.SqDist(space.Row(i), x.Row(j)); d < least {
				nearest, least = j, d
			}
		}
		p := 1.0
		if succeeds != nil {
			p = succeeds[i]
		}
		share[nearest] += p / float64(points.Len(space))
		below += (1 - p) / float64(points.Len(space))
	}
	best, largest, draws := slices.Min(y), slices.Max(y), len(y)
	for i, v := range y {
		regret += float64(failed[i]) * (largest - best)
		best = max(best, v)
		regret += largest - best
		draws += failed[i]
	}
	order := stat.Order(len(y), func(i, j int) int { return cmp.Compare(y[i], y[j]) })
	for k, i := range order[:len(order)-1] {
		below += share[i]
		power := 1.0
		for range draws {
			power *= below
			random += power * (y[order[k+1]] - y[i])
		}
	}
	return regret, random
}
