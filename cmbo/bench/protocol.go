package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/internal/each"
)

// A Protocol says which runs an experiment consists of. All of them follow from it and the tables.
type Protocol struct {
	// Name is that of the preset it was made from.
	Name string `json:"name"`
	// Seed is that of everything random.
	Seed uint64 `json:"seed"`

	// Own takes HPO-B's own division of the tasks, train and validation being the sources and test the targets, and its
	// own initial configurations, in the place of random ones. Splits is 1 then.
	Own bool `json:"own"`
	// Splits is the number of random divisions of the tasks.
	Splits int `json:"splits"`
	// SourceShare is the fraction of tasks that are sources.
	SourceShare float64 `json:"source_share"`
	// Sources bounds how many past tasks of a split are learned from, drawn at random; 0 for all.
	Sources int `json:"sources,omitempty"`
	// SourceRows is how many observations of each source are learned from.
	SourceRows int `json:"source_rows"`
	// Past is "" for the past tasks as they are, or says what is done to their values.
	//
	// They mislead: "negated", times −1; "mirrored", turned over within the range of all, as errors are accuracies. They
	// say nothing: "shuffled", those of a task stand beside its points in another order. They are in other units than
	// the target's: "shifted", 50 of their mean range lower; "lower" and "higher", three of it; "small" and "large", a
	// thirtieth and thirty times of each; "mixed", each task has a unit of its own, a tenth to ten times its values,
	// moved by up to three mean ranges. "penalized": values up to the quantile of a tenth of their task become a
	// penalty, a thousand times their range below them. "compressed": values are as [cmbo.Learn] sees them.
	Past string `json:"past,omitempty"`
	// Targets bounds how many targets of a split are tuned, the first ones in the order of their IDs; 0 for all.
	Targets int `json:"targets"`
	// Initial is how many random rows of the target are told before the first query.
	Initial int `json:"initial"`
	// Repeats is the number of runs on each target, with other initial rows.
	Repeats int `json:"repeats"`
	// Budget is the number of queries of a run.
	Budget int `json:"budget"`

	// Methods are the names of the methods, as in [Methods], with [SharedValues] behind them or as [Ablated] has it.
	Methods []string `json:"methods"`
	// Acquisitions are acquisition functions as [cmbo.ParseAcquisition] reads
	// them. A method runs with those that suit it, one without any once.
	Acquisitions []string `json:"acquisitions"`
	// Clusters is the least and the largest number of clusters among which
	// methods that cluster choose by the scores of the partitions.
	Clusters [2]int `json:"clusters"`
}

// Protocols returns the presets, each with all methods:
//
//   - "paper": 85 : 15 random divisions of the tasks five times over, fifty observations of each source, five initial rows
//     of each target eight times over, fifty queries; UCB(3), EI and PI; the number of clusters chosen between 2 and 6
//     (arXiv:2503.06093, section 4).
//   - "hpob": HPO-B v3's own: the test tasks are tuned from the five initialisations test0 to test4 with a hundred queries
//     each. Sources are the training and validation tasks with fifty observations of each; the benchmark leaves open how
//     many a method takes.
//   - "quick": as "paper" within about a minute on a laptop: one division, three
//     targets, two repeats, fifteen queries, EI, four clusters.
func Protocols() []Protocol {
	paper := Protocol{
		Name: "paper", Seed: 1,
		Splits: 5, SourceShare: 0.85, SourceRows: 50, Initial: 5, Repeats: 8, Budget: 50,
		Methods:      each.Of(Methods(), func(m Method) string { return m.Name }),
		Acquisitions: []string{cmbo.UCB(3).String(), cmbo.EI().String(), cmbo.PI().String()}, Clusters: [2]int{2, 6},
	}
	hpob := paper.clone()
	hpob.Name, hpob.Own, hpob.Splits, hpob.Repeats, hpob.Budget = "hpob", true, 1, 5, 100
	quick := paper.clone()
	quick.Name, quick.Splits, quick.Repeats, quick.Targets, quick.Budget = "quick", 1, 2, 3, 15
	quick.Clusters = [2]int{4, 4}
	quick.Acquisitions = []string{cmbo.EI().String()}
	return []Protocol{paper, hpob, quick}
}

// FindProtocol returns the preset of that name, letter case ignored. It fails with [cmbo.ErrOption].
func FindProtocol(name string) (Protocol, error) {
	return gp.Find(Protocols(), func(p Protocol) string { return p.Name }, "protocol", name)
}

func (p Protocol) clone() Protocol {
	p.Methods = slices.Clone(p.Methods)
	p.Acquisitions = slices.Clone(p.Acquisitions)
	return p
}

// Check says what is wrong with the protocol, wrapping [cmbo.ErrOption]; its methods must be among [Methods].
func (p Protocol) Check() error {
	_, err := p.settle(Methods())
	return err
}

// A plan is a protocol with what it names.
type plan struct {
	Protocol     // its names as the methods and acquisitions write themselves
	catalogue    []Method
	methods      []Method
	acquisitions []acq.Func
}

// settle finds what p names, or says what is wrong with it.
func (p Protocol) settle(catalogue []Method) (*plan, error) {
	bad := func(format string, args ...any) (*plan, error) {
		return nil, fmt.Errorf("%w: protocol: %s", cmbo.ErrOption, fmt.Sprintf(format, args...))
	}
	for _, n := range []struct {
		name     string
		n, least int
	}{
		{"splits", p.Splits, 1}, {"sources", p.Sources, 0}, {"source rows", p.SourceRows, 1}, {"targets", p.Targets, 0},
		{"initial rows", p.Initial, 0}, {"repeats", p.Repeats, 1}, {"budget", p.Budget, 1},
		{"methods", len(p.Methods), 1}, {"acquisitions", len(p.Acquisitions), 1},
	} {
		if n.n < n.least {
			return bad("%d %s, must be at least %d", n.n, n.name, n.least)
		}
	}
	switch {
	case p.Past != "" && pasts[p.Past] == nil:
		return bad("past %q, which is neither empty nor one of %v", p.Past, slices.Sorted(maps.Keys(pasts)))
	case p.Own && p.Splits != 1:
		return bad("%d splits of HPO-B's own division, which is one", p.Splits)
	case p.Own && p.Sources > 0:
		return bad("%d sources, but HPO-B's own division says which tasks are past", p.Sources)
	case p.Own && p.Repeats > hpobSeeds:
		return bad("%d repeats of HPO-B's own initialisations, which are %d", p.Repeats, hpobSeeds)
	case !p.Own && !(p.SourceShare > 0 && p.SourceShare < 1):
		return bad("source share %g is outside (0, 1)", p.SourceShare)
	case p.Clusters[0] < 1 || p.Clusters[1] < p.Clusters[0]:
		return bad("number of clusters from %d to %d", p.Clusters[0], p.Clusters[1])
	}
	out := &plan{Protocol: p, catalogue: catalogue}
	out.Methods, out.Acquisitions = nil, nil
	for _, name := range p.Methods {
		m, err := findMethod(catalogue, name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out.Methods, m.Name) {
			return bad("method %s twice", m.Name)
		}
		out.Methods, out.methods = append(out.Methods, m.Name), append(out.methods, m)
	}
	for _, name := range p.Acquisitions {
		a, err := cmbo.ParseAcquisition(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out.Acquisitions, a.String()) {
			return bad("acquisition %s twice", a)
		}
		out.Acquisitions, out.acquisitions = append(out.Acquisitions, a.String()), append(out.acquisitions, a)
	}
	return out, nil
}

// contains says why an experiment of protocol q may not be continued as p: "" if it may, because
// what settles the outcome of a run is the same and p wants every run that q does.
func (p *Protocol) contains(q *Protocol) string {
	for _, f := range []struct {
		name string
		p, q any
	}{
		{"seed", p.Seed, q.Seed}, {"HPO-B's own division", p.Own, q.Own}, {"source share", p.SourceShare, q.SourceShare},
		{"sources", p.Sources, q.Sources}, {"source rows", p.SourceRows, q.SourceRows},
		{"initial rows", p.Initial, q.Initial},
		{"past values", cmp.Or(p.Past, "as they are"), cmp.Or(q.Past, "as they are")},
		{"budget", p.Budget, q.Budget}, {"clusters", p.Clusters, q.Clusters},
	} {
		if f.p != f.q {
			return fmt.Sprintf("%s %v, now %v", f.name, f.q, f.p)
		}
	}
	switch {
	case p.Splits < q.Splits:
		return fmt.Sprintf("%d splits, now only %d", q.Splits, p.Splits)
	case p.Repeats < q.Repeats:
		return fmt.Sprintf("%d repeats, now only %d", q.Repeats, p.Repeats)
	case p.Targets != 0 && (q.Targets == 0 || p.Targets < q.Targets):
		return fmt.Sprintf("%d targets (0 for all), now only %d", q.Targets, p.Targets)
	}
	for _, l := range []struct {
		what string
		p, q []string
	}{{"method", p.Methods, q.Methods}, {"acquisition", p.Acquisitions, q.Acquisitions}} {
		for _, s := range l.q {
			if !slices.Contains(l.p, s) {
				return fmt.Sprintf("%s %s, now not", l.what, s)
			}
		}
	}
	return ""
}
