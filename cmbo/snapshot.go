package cmbo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/kernel"
)

type snapshotState struct {
	Space   *Space          `json:"space"`
	Options snapshotOptions `json:"options"`
	Events  []runlog.Stored `json:"events"`
}

type snapshotOptions struct {
	Seed        uint64       `json:"seed"`
	Minimize    bool         `json:"minimize"`
	Positive    bool         `json:"positive_values,omitempty"`
	YPolicy     string       `json:"y_policy"`
	Acquisition string       `json:"acquisition"`
	Prior       string       `json:"prior,omitempty"` // digest
	Surrogate   string       `json:"surrogate,omitempty"`
	Kernel      *kernel.Spec `json:"kernel,omitempty"`
	Foreign     string       `json:"foreign_kernel,omitempty"` // type of a kernel without a description
	Noise       *float64     `json:"noise_variance,omitempty"`
	Initial     int          `json:"initial"`
	Checkpoints bool         `json:"checkpoints,omitempty"`
	Sobol       int          `json:"sobol_candidates"`
	Local       int          `json:"local_candidates"`

	Outputs   []runlog.Output `json:"outputs,omitempty"`
	KnownCost bool            `json:"known_cost,omitempty"` // by WithCost
	Budget    *float64        `json:"budget,omitempty"`
	Context   Context         `json:"context,omitempty"`
}

// Snapshot writes the state of the optimiser, at any moment: one line of JSON with the space, the options by name,
// the digest of the prior and the log of events that [Optimizer] names. It is data alone, which any machine and any
// release that has its format can read. It fails if w does, or with [ErrOption] if the prior cannot be encoded or the
// acquisition has no name that [ParseAcquisition] reads.
func (o *Optimizer) Snapshot(w io.Writer) error {
	return guard(func() error {
		if err := cmp.Or(o.made(), checkWriter(w)); err != nil {
			return err
		}
		line, err := o.sealedState()
		if err == nil {
			_, err = w.Write(line)
		}
		return err
	})
}

// sealedState returns the line that a snapshot is and a journal begins with.
func (o *Optimizer) sealedState() ([]byte, error) {
	s, err := o.snapshot()
	if err != nil {
		return nil, err
	}
	state, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("%w: snapshot: %w", ErrOption, err)
	}
	return runlog.SealState(state), nil
}

func (o *Optimizer) snapshot() (*snapshotState, error) {
	o.mu.Lock()
	defer o.mu.Unlock() // the acquisition's String may panic
	c := &o.config
	s := &snapshotState{Space: o.space, Events: make([]runlog.Stored, 0, len(o.h.Events))}
	// A name that reads as something else would restore another run.
	if f, err := acq.Parse(c.acquisition.String()); err != nil || !reflect.DeepEqual(f, c.acquisition) {
		return nil, optionErrorf("the acquisition %s cannot be stored: its name does not read as it: see acq.Register", c.acquisition)
	}
	s.Options = snapshotOptions{
		Seed: c.seed, Minimize: c.minimize, Positive: c.positive, YPolicy: c.y.String(), Acquisition: c.acquisition.String(),
		Initial: c.initial, Checkpoints: c.checkpoints, Sobol: c.sobol, Local: c.local, Outputs: c.outputs,
		Context: c.context, KnownCost: c.cost != nil,
	}
	p := &s.Options
	if c.prior != nil {
		var err error
		if p.Prior, err = c.prior.Digest(); err != nil {
			return nil, err
		}
	}
	if c.surrogate != nil {
		p.Surrogate = fmt.Sprintf("%T", c.surrogate)
	}
	if c.kernel != nil {
		if spec, err := kernel.Describe(c.kernel); err == nil {
			p.Kernel = &spec
		} else {
			p.Foreign = fmt.Sprintf("%T", c.kernel)
		}
	}
	if !math.IsNaN(c.noise) {
		p.Noise = &c.noise
	}
	if c.budget > 0 {
		p.Budget = &c.budget
	}
	s.Events = append(s.Events, each.Of(o.h.Events, runlog.Event.Export)...)
	return s, nil
}

// Restore makes the optimiser that a snapshot was taken of: in the same build the next proposals are, bit for bit,
// those of a process that never stopped. The caller gives again the parts that a snapshot only names: [WithPrior], or
// [WithNewPrior] for another one, [WithSurrogate], [WithKernel] for kernels from outside package kernel,
// [WithCost]. [WithParallelism] and [WithJournal] may be given, no other option.
//
// It reads to the end of r and fails with [ErrVersion] for a snapshot of another format, with [ErrCorrupt] for a
// truncated or damaged one, with [ErrPriorMismatch] if the prior is another or missing, and with [ErrOption].
// [Optimizer.LastStep] knows nothing until the next proposal.
func Restore(r io.Reader, opts ...Option) (*Optimizer, error) {
	return guarded(func() (*Optimizer, error) {
		b, err := readAll(r, math.MaxInt64)
		if err != nil {
			return nil, err
		}
		o, err := restore(b, opts)
		if err == nil {
			_, err = o.beginJournal()
		}
		return o, err
	})
}

// restore is Restore without a new journal's first line.
func restore(b []byte, opts []Option) (*Optimizer, error) {
	s, err := openSnapshot(b)
	if err != nil {
		return nil, err
	}
	given, err := s.Options.given(opts)
	if err != nil {
		return nil, err
	}
	if err := s.Space.Defined(); err != nil {
		return nil, codec.Corrupt(err)
	}
	c, err := s.Options.restore(given)
	if err != nil {
		return nil, err
	}
	o, err := newOptimizer(s.Space, c)
	if err != nil {
		return nil, err
	}
	return o, o.restoreEvents(s)
}

func (o *Optimizer) restoreEvents(s *snapshotState) error {
	for i, e := range s.Events {
		if err := o.h.Restore(e, o.checks()); err != nil {
			return codec.Corrupt(fmt.Errorf("event %d: %w", i, err))
		}
	}
	return nil
}

// checks are those of a log that is read.
func (o *Optimizer) checks() runlog.Checks {
	c := o.model.checks()
	c.Value = o.config.checkValue
	return c
}

func openSnapshot(b []byte) (*snapshotState, error) {
	state, err := runlog.OpenState(b)
	if err != nil {
		return nil, err
	}
	s := &snapshotState{}
	if err := runlog.DecodeJSON(state, s); err != nil {
		return nil, codec.Corrupt(err)
	}
	return s, nil
}

// sameRun reports how a run that is stored differs from s, one that begins, in its space and options.
func (s *snapshotState) sameRun(stored *snapshotState) error {
	if d := runlog.Difference(stored.Space, s.Space); d != "" {
		return fmt.Errorf("%w: the stored run was begun with %s", ErrSpace, d)
	}
	// A prior of another space is another prior: the space says more.
	if err := samePrior(stored.Options.Prior, s.Options.Prior); err != nil {
		return err
	}
	if d := runlog.Difference(stored.Options, s.Options); d != "" {
		return optionErrorf("the stored run was begun with %s", d)
	}
	return nil
}

// given applies the options of Restore and refuses those that set what the snapshot says.
func (s *snapshotOptions) given(opts []Option) (*runConfig, error) {
	c := new(runConfig)
	if err := c.apply(opts); err != nil {
		return nil, err
	}
	for _, o := range c.given {
		was, is := "", ""
		switch o.id {
		case optOutput:
			was, is = differing(s.Outputs, c.outputs), differing(c.outputs, s.Outputs)
		case optBudget:
			was, is = "no budget", short(c.budget)
			if s.Budget != nil {
				was = short(*s.Budget)
			}
		case optContext:
			was, is = inWords(s.Context), inWords(c.context)
		}
		switch {
		case o.restore:
		case was != is:
			return nil, optionErrorf("%s: the snapshot says it, and Restore does not take it: the run has %s, and %s is given", o.id, was, is)
		default:
			return nil, optionErrorf("%s: the snapshot says it, and Restore does not take it", o.id)
		}
	}
	return c, nil
}

// differing says in words which outputs are not among others.
func differing(outputs, others []runlog.Output) string {
	var words []string
	for _, o := range outputs {
		if !slices.ContainsFunc(others, func(p runlog.Output) bool { return o.String() == p.String() }) {
			words = append(words, o.String())
		}
	}
	return cmp.Or(strings.Join(words, " and "), "no other output")
}

// inWords lists descriptors by name.
func inWords(c Context) string {
	words := each.Of(slices.Sorted(maps.Keys(c)), func(name string) string { return fmt.Sprintf("%q: %#v", name, c[name]) })
	return cmp.Or(strings.Join(words, ", "), "no descriptor")
}

// restore makes the configuration from the options by name and what was given again.
func (s *snapshotOptions) restore(given *runConfig) (*runConfig, error) {
	c := &runConfig{
		sharedConfig: sharedConfig{seed: s.Seed, minimize: s.Minimize, positive: s.Positive, parallelism: given.parallelism},
		checkpoints:  s.Checkpoints, outputs: s.Outputs, noise: math.NaN(),
		prior: given.prior, newPrior: given.newPrior, surrogate: given.surrogate, cost: given.cost, journal: given.journal, mark: given.mark,
	}
	if was, is := s.KnownCost, c.cost != nil; was != is {
		if was {
			return nil, optionErrorf("the run was begun with %s, which has to be given again", optCost)
		}
		return nil, optionErrorf("%s: the run was begun without", optCost)
	}
	y, noPolicy := ParseYPolicy(s.YPolicy)
	f, noAcquisition := acq.Parse(s.Acquisition)
	again := []Option{WithAcquisition(f), WithInitial(s.Initial), WithCandidateCounts(s.Sobol, s.Local)}
	if again = append(again, WithContext(s.Context)); !c.newPrior { // which may have another policy
		again = append(again, WithYPolicy(y))
	}
	if s.Budget != nil {
		again = append(again, WithBudget(*s.Budget))
	}
	if s.Noise != nil {
		again = append(again, WithNoiseVariance(*s.Noise))
	}
	if err := cmp.Or(runlog.CheckOutputs(c.outputs), noPolicy, noAcquisition, c.apply(again)); err != nil {
		return nil, codec.Corrupt(err)
	}
	digest, misspelt := "", error(nil) // what was stored may have names that New refuses
	if c.prior != nil {
		var err error
		if digest, err = c.prior.Digest(); err != nil {
			return nil, err
		}
	}
	if given.newPrior && s.Prior != "" {
		digest, misspelt = s.Prior, c.checkSpelling()
	}
	if err := cmp.Or(samePrior(s.Prior, digest), c.fill(), misspelt); err != nil {
		return nil, err
	}
	if c.minimize != s.Minimize || c.positive != s.Positive {
		return nil, fmt.Errorf("%w: it was learned with another direction or sign of values than the run's", ErrPriorMismatch)
	}
	was := ""
	if c.surrogate != nil {
		was = fmt.Sprintf("%T", c.surrogate)
	}
	if was != s.Surrogate {
		return nil, optionErrorf("the run's surrogate was %q, not %q", s.Surrogate, was)
	}
	return c, s.restoreKernel(c, given)
}

// samePrior reports a prior that is not the run's; of none the digest is empty.
func samePrior(was, is string) error {
	switch {
	case was == is:
		return nil
	case was == "":
		return fmt.Errorf("%w: the run had none", ErrPriorMismatch)
	case is == "":
		return fmt.Errorf("%w: the run had the prior of digest %s, and none is given", ErrPriorMismatch, was)
	}
	return fmt.Errorf("%w: the run had the prior of digest %s, not %s, which takes its place by %s", ErrPriorMismatch, was, is, optNewPrior)
}

func (s *snapshotOptions) restoreKernel(c, given *runConfig) error {
	switch {
	case s.Kernel != nil:
		k, err := s.Kernel.Kernel()
		if err != nil {
			return codec.Corrupt(err)
		}
		c.kernel = k
		return refuseUnless(given.kernel == nil, "a kernel; the snapshot has it")
	case s.Foreign != "":
		if got := fmt.Sprintf("%T", given.kernel); got != s.Foreign {
			return optionErrorf("the run's kernel was a %s, not a %s", s.Foreign, got)
		}
		c.kernel = given.kernel
	case given.kernel != nil:
		return optionErrorf("a kernel; the run had the default")
	}
	return nil
}
