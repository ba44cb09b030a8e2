package suggest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

// stateSetting is the setting by which Katib keeps the state of a run: the reply
// sets it, Katib stores it together with the reply's assignments, and the next
// request brings it back.
const stateSetting = "cmbo_state"

// An experiment is what a request says of one.
type experiment struct {
	space    *space // nil without parameters
	minimize bool
	metric   string
	opts     []cmbo.Option
	acquired string // the setting that says which acquisition to use
	prior    source // of the prior, if it has a kind
	state    string
	limited  []string // further metrics that have to hold a limit
	context  cmbo.Context
	positive bool // the objective is, as the setting or the prior says
}

// read reads an experiment. It fails with errors of the experiment.
func (s *Service) read(e *api.Experiment) (*experiment, error) {
	spec := e.GetSpec()
	algorithm := spec.GetAlgorithm()
	if name := algorithm.GetAlgorithmName(); name != s.Algorithm {
		return nil, fmt.Errorf("algorithm %q is not served here; %q is", name, s.Algorithm)
	}
	if spec.GetNasConfig() != nil {
		return nil, fmt.Errorf("a search for network architectures (nasConfig) is not served")
	}
	x := &experiment{metric: spec.GetObjective().GetObjectiveMetricName()}
	if o := spec.GetObjective(); o != nil {
		switch o.GetType() {
		case api.ObjectiveType_MINIMIZE:
			x.minimize = true
			x.opts = append(x.opts, cmbo.WithMinimize())
		case api.ObjectiveType_MAXIMIZE:
		default:
			return nil, fmt.Errorf("objective type %s: minimize or maximize is needed", o.GetType())
		}
	}
	if specs := spec.GetParameterSpecs().GetParameters(); len(specs) > 0 {
		var err error
		if x.space, err = newSpace(specs); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for _, a := range algorithm.GetAlgorithmSettings() {
		if seen[a.GetName()] {
			return nil, fmt.Errorf("setting %q is there twice", a.GetName())
		}
		seen[a.GetName()] = true
		if err := x.set(a.GetName(), a.GetValue()); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// set takes one setting. Those of Katib's own bayesianoptimization are taken, too, or
// refused with what is done instead.
func (x *experiment) set(name, value string) error {
	bad := func(want string) error { return fmt.Errorf("setting %s is %q, not %s", name, value, want) }
	instead := func(why string) error {
		return fmt.Errorf("setting %s is %q, which is not served: %s", name, value, why)
	}
	switch name {
	case "random_state":
		seed, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return bad("a whole number from 0")
		}
		x.opts = append(x.opts, cmbo.WithSeed(seed))
	case "acquisition":
		a, err := cmbo.ParseAcquisition(value)
		if err != nil {
			return bad("EI, UCB, UCB(beta), PI, MaxValuePI or Thompson")
		}
		return x.acquire(name, a)
	case "acq_func":
		switch value {
		case "gp_hedge": // a choice among the following, which is the service's here
			return x.acquire(name, nil)
		case "EI":
			return x.acquire(name, cmbo.EI())
		case "PI":
			return x.acquire(name, cmbo.PI())
		case "LCB":
			return x.acquire(name, cmbo.UCB(1.96)) // the kappa of scikit-optimize
		case "EIps", "PIps":
			return instead("Katib tells no service how long trials take; use EI or PI")
		}
		return bad("gp_hedge, LCB, EI or PI")
	case "base_estimator":
		switch value {
		case "GP":
		case "RF", "ET", "GBRT":
			return instead("the model is a Gaussian process; leave the setting out")
		default:
			return bad("GP")
		}
	case "acq_optimizer":
		if value != "auto" && value != "sampling" && value != "lbfgs" {
			return bad("auto, sampling or lbfgs, which all mean the service's own search")
		}
	case "n_initial_points":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return bad("a whole number from 0")
		}
		x.opts = append(x.opts, cmbo.WithInitial(n))
	case "constraints":
		return x.constrain(value)
	case "context":
		return x.describe(value)
	case "positive_values":
		var err error
		if x.positive, err = strconv.ParseBool(value); err != nil {
			return bad("true or false")
		}
		if x.positive {
			x.opts = append(x.opts, cmbo.WithPositiveValues())
		}
	case "prior", "history":
		if x.prior.kind != "" {
			return fmt.Errorf("both a prior and a history are given; one of them is the past to learn from")
		}
		x.prior = source{kind: name, place: value}
	case stateSetting:
		x.state = value
	default:
		return fmt.Errorf("setting %q is not known; random_state, acquisition, n_initial_points, constraints, context, positive_values, prior and history are, and acq_func, acq_optimizer and base_estimator of Katib's bayesianoptimization", name)
	}
	return nil
}

// constrain takes limits on further metrics, such as "latency<=5, accuracy>=0.9".
func (x *experiment) constrain(value string) error {
	limits := map[string][]cmbo.OutputOption{}
	for text := range strings.SplitSeq(value, ",") {
		bound := cmbo.AtMost
		name, number, found := strings.Cut(text, "<=")
		if !found {
			name, number, found = strings.Cut(text, ">=")
			bound = cmbo.AtLeast
		}
		limit, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if name = strings.TrimSpace(name); !found || err != nil || name == "" {
			return fmt.Errorf("setting constraints has %q, which is not of the form latency<=5 or accuracy>=0.9",
				strings.TrimSpace(text))
		}
		if name == x.metric {
			return fmt.Errorf("setting constraints has a limit on %q, which is the objective", name)
		}
		limits[name] = append(limits[name], bound(limit))
	}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		x.limited = append(x.limited, name)
		// A trial may end without having reported the metric.
		x.opts = append(x.opts, cmbo.WithOutput(name, append(limits[name], cmbo.Optional())...))
	}
	return nil
}

// describe takes descriptors of the experiment, such as "cores=8, disk=ssd".
func (x *experiment) describe(value string) error {
	x.context = cmbo.Context{}
	for text := range strings.SplitSeq(value, ",") {
		name, v, found := strings.Cut(text, "=")
		name, v = strings.TrimSpace(name), strings.TrimSpace(v)
		if _, again := x.context[name]; !found || name == "" || v == "" || again {
			return fmt.Errorf("setting context has %q, which is not of the form cores=8, or is there twice",
				strings.TrimSpace(text))
		}
		if number, err := strconv.ParseFloat(v, 64); err == nil {
			x.context[name] = number
		} else {
			x.context[name] = v
		}
	}
	return nil
}

// acquire takes the acquisition that a setting names, nil for the default.
func (x *experiment) acquire(setting string, a acq.Func) error {
	if x.acquired != "" {
		return fmt.Errorf("both %s and %s say which acquisition to use", x.acquired, setting)
	}
	if x.acquired = setting; a != nil {
		x.opts = append(x.opts, cmbo.WithAcquisition(a))
	}
	return nil
}

// options returns the options of the experiment's optimiser.
func (s *Service) options(ctx context.Context, x *experiment,
	logf func(string, ...any)) (opts []cmbo.Option, prior *cmbo.Prior, err error) {
	if x.prior.kind == "" {
		if x.context != nil {
			return nil, nil, fmt.Errorf("setting context says which past experiments this one is like, and there is neither a prior nor a history")
		}
		return x.opts, nil, nil
	}
	if prior, err = s.priors.get(ctx, x, logf); err != nil {
		return nil, nil, fmt.Errorf("%s %s: %w", x.prior.kind, x.prior.place, err)
	}
	if prior.Minimizes() != x.minimize {
		return nil, nil, fmt.Errorf("%s %s: %w: one of it and the experiment minimises, the other maximises",
			x.prior.kind, x.prior.place, cmbo.ErrPriorMismatch)
	}
	x.positive = prior.PositiveValues() // a run takes it over; the setting with a prior without it is refused
	opts = append(slices.Clip(x.opts), cmbo.WithPrior(prior))
	if x.context != nil {
		opts = append(opts, cmbo.WithContext(x.context))
	}
	return opts, prior, nil
}
