package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/baseline"
	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/cmbo/paper"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/names"
)

// list is a flag that may be given several times, or once with commas.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(s string) error {
	for v := range strings.SplitSeq(s, ",") {
		*l = append(*l, strings.TrimSpace(v))
	}
	return nil
}

// overrides are the flags that change a protocol.
type overrides struct {
	set    bench.Protocol // by flags that have a field
	ablate list
	given  map[string]bool // by name: whether a flag was given
}

// numbers lists the flags that stand for a number of a protocol.
var numbers = []struct {
	name, usage string
	of          func(*bench.Protocol) *int
}{
	{"splits", "random divisions into past and new tasks", func(p *bench.Protocol) *int { return &p.Splits }},
	{"sources", "past tasks of each split at most, drawn at random; 0 for all",
		func(p *bench.Protocol) *int { return &p.Sources }},
	{"source-rows", "random observations of each past task", func(p *bench.Protocol) *int { return &p.SourceRows }},
	{"targets", "new tasks of each split to tune at most; 0 for all", func(p *bench.Protocol) *int { return &p.Targets }},
	{"initial", "random observations of a new task before the first query",
		func(p *bench.Protocol) *int { return &p.Initial }},
	{"repeats", "runs on each new task, with other initial points", func(p *bench.Protocol) *int { return &p.Repeats }},
	{"budget", "queries of a run", func(p *bench.Protocol) *int { return &p.Budget }},
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	c := overrides{given: make(map[string]bool)}
	f := flag.NewFlagSet("hpob", flag.ContinueOnError)
	f.SetOutput(io.Discard) // the error says what is wrong, and the list of flags would hide it
	var presets, methods []string
	for _, q := range bench.Protocols() {
		presets, methods = append(presets, q.Name), q.Methods // each has all methods
	}
	f.Func("data", "`path` of a table in HPO-B's format (.json or .json.gz), of HPO-B's directory, or of a history (see -format); may be given several times", func(s string) error {
		o.data = append(o.data, s)
		return nil
	})
	f.StringVar(&o.space, "space", "", "`name` of the search space, all of them if left out; for histories the file of JSON that describes the parameters")
	f.StringVar(&o.past.format, "format", "",
		"`format` of -data, told by the file's name if left out: "+strings.Join(formats, ", "))
	f.StringVar(&o.past.value, "value", "", "`column` of a history's values (default value), for mlflow and wandb the metric, of a file with several \"outputs\" the one to be optimised")
	f.StringVar(&o.past.task, "task", "", "`column` of a history's tasks (default task; without it a file is a task)")
	f.BoolVar(&o.past.minimize, "minimize", false, "small values are the good ones")
	f.BoolVar(&o.past.skip, "skip", false, "leave out bad rows, those without a finite value, say, and go on")
	f.StringVar(&o.experiment, "experiment", "", "`protocol` to compare methods by: "+strings.Join(presets, ", ")+
		", curves (ways to spend epochs, on a file with learning curves; -method takes parts of their names)")
	f.StringVar(&o.report, "report", "", "`folder` of an experiment to write the report of, from its records alone")
	f.Var(&o.ratios, "ratios", "`folders` of experiments, with commas between or given several times, to set the methods of all of them side by side, from their records alone: areas by table, and the geometric means of the ratios of the area of cm-BO, or of the -method named, to those of the others")
	f.StringVar(&o.out, "out", "", "`folder` of the experiment (default hpob-NAME); without -experiment the file to write the mean curve to (default regret.csv), -out '' for none")
	f.BoolVar(&o.contexts, "context", false, "compare runs that know the tasks' descriptors, the \"context\" of a table, with runs that do not and with runs whose descriptors are dealt out at random among the tasks, each task left out; -value names the output to be optimised, if the file has several; with -experiment curves it is the end of a curve, and with -constraint the ways are compared under it")
	f.Func("constraint", "`limit` on an output of a file that has several, such as etime<=5, or etime<=30% for that quantile of each task; may be given several times. Compares ways to deal with it, each task left out once; -value names the output to be optimised", func(s string) error {
		c, err := parseConstraint(s)
		o.constraints = append(o.constraints, c)
		return err
	})
	f.StringVar(&o.cost, "cost", "", "`output` of a file that has several that is what an evaluation costs. Compares what runs reach that know of it or not, each task left out once, within -budget times the mean cost of the task; -value names the output to be optimised")
	f.Func("noise", "`deviations` of noise, in units of each task's, on all values. Compares what runs would use in the end, the point that is recommended or that of the best value, each task left out", func(s string) (err error) {
		if o.noise, err = strconv.ParseFloat(s, 64); err != nil || !(o.noise > 0) || math.IsInf(o.noise, 0) {
			return errors.New("no positive number of deviations")
		}
		return nil
	})
	f.Var((*list)(&c.set.Methods), "method", "`method`, or for an experiment several with commas between: "+strings.Join(methods, ", ")+"; cmbo is the paper's default, "+paper.WssClusWssCMP.String()+"; a rival with "+bench.SharedValues+" behind its name takes all tasks to be in one unit")
	names, what := cmbo.Ablations()
	changes := "`changes` of the default's settings to compare with it, with commas between: a setting and its numbers, such as Shrink=0.2 or Besides=0.1:1, or a name, or all for all names:"
	for i, name := range names {
		changes += "\n" + name + ": " + what[i]
	}
	f.Var(&c.ablate, "ablate", changes)
	f.Var((*list)(&c.set.Acquisitions), "acquisition", "`acquisition`, or for an experiment several with commas between: UCB (beta 3), UCB(beta), EI, PI, MaxValuePI; without -experiment EI is the default")
	f.StringVar(&c.set.Past, "past", "", "what is done to the values of the `past` tasks: negated, times −1, or mirrored, turned over within the range of all, they mislead; shuffled, they say nothing; penalized, the lowest tenth of each task is a penalty for crashes; compressed, differences between low ones are made smaller, which cm-BO does by itself; shifted, lower, higher, small and large, they are in other units than the target's; mixed, each is in a unit of its own")
	f.Func("clusters", "number of clusters, or a `range` such as 2-6 to choose from by the scores of the partitions; without -experiment 4 is the default", func(s string) (err error) {
		c.set.Clusters, err = parseRange(s)
		return err
	})
	for _, n := range numbers {
		f.IntVar(n.of(&c.set), n.name, 0, n.usage)
	}
	f.Uint64Var(&c.set.Seed, "seed", 1, "`seed` of everything random")
	f.IntVar(&o.workers, "workers", 0, "runs under way at a time; 0 for one a processor")
	f.BoolVar(&o.quiet, "quiet", false, "no progress")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		f.SetOutput(stderr)
		fmt.Fprint(stderr, "Usage: go run ./examples/hpob -data FILE-OR-DIRECTORY [-experiment NAME] [flags]\n"+
			"       go run ./examples/hpob -report DIR\n"+
			"       go run ./examples/hpob -ratios DIR[,DIR...] [-method NAME]\n\n"+
			"Numbers that are not given are those of the experiment, without one those of \"paper\".\n\n")
		f.PrintDefaults()
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w; -help lists the flags", err)
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if o.workers < 0 {
		return nil, fmt.Errorf("-workers: %d is negative", o.workers)
	}
	f.Visit(func(f *flag.Flag) { c.given[f.Name] = true })
	switch {
	case len(o.ratios) > 0:
		o.base = "cm-BO"
		if len(c.set.Methods) > 1 {
			return nil, errors.New("-ratios compares the others with one -method")
		}
		for _, name := range c.set.Methods {
			o.base = spelled(name)
		}
		return o, c.refuse("ratios method quiet", "-ratios works from the records alone")
	case o.report != "":
		return o, c.refuse("report quiet", "-report works from the records alone")
	case len(o.data) == 0:
		return nil, errors.New("-data is missing; -help lists the flags")
	case o.past.format != "" && !slices.Contains(formats, o.past.format):
		return nil, fmt.Errorf("-format: %q is none of %s", o.past.format, strings.Join(formats, ", "))
	case o.constraints != nil && o.cost != "":
		return nil, errors.New("-constraint and -cost are two comparisons: give one of them")
	}
	if o.experiment == "curves" {
		o.curves, o.experiment, o.past.minimize = true, "", true // losses
	}
	if o.curves || o.noise > 0 {
		o.ways, c.set.Methods = c.set.Methods, nil
	}
	switch {
	case c.given["out"]:
	case o.experiment != "":
		o.out = "hpob-" + o.experiment
	default:
		o.out = "regret.csv"
	}
	if err := c.settle(o); err != nil {
		return nil, err
	}
	switch {
	case o.constraints != nil:
		o.own = "constraint"
	case o.cost != "" && !o.contexts:
		o.own = "cost"
	case o.noise > 0 && !o.contexts:
		o.own = "noise"
	case o.curves:
		o.own = "experiment curves"
	}
	if o.contexts {
		o.own = strings.TrimPrefix(o.own+" -context", " -")
	}
	if o.own != "" {
		return o, c.checkOwn(o)
	}
	return o, c.idle(&o.protocol)
}

// Flags that would change nothing are mistakes: who gives one believes that the numbers are others than they are.

// refuse refuses all flags but some, and says why.
func (c *overrides) refuse(allBut, why string) error {
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		if !slices.Contains(strings.Fields(allBut), name) {
			return fmt.Errorf("-%s changes nothing: %s", name, why)
		}
	}
	return nil
}

// idle refuses flags without an effect on a protocol that is settled.
func (c *overrides) idle(p *bench.Protocol) error {
	some := func(does func(bench.Method) bool) bool {
		return slices.ContainsFunc(bench.Methods(), func(m bench.Method) bool { return slices.ContainsFunc(p.Methods, m.Named) && does(m) })
	}
	for _, m := range bench.Methods() {
		if slices.ContainsFunc(c.set.Methods, m.Named) && !slices.ContainsFunc(p.Acquisitions, func(name string) bool {
			a, err := cmbo.ParseAcquisition(name)
			return err != nil || m.Use.Suits(a)
		}) {
			kind := map[baseline.Use]string{baseline.OwnUCB: "UCB", baseline.OwnEI: "EI"}[m.Use]
			return fmt.Errorf("-method %s has no run with %s: it stands beside %s alone", m.Name, strings.Join(p.Acquisitions, ", "), kind)
		}
	}
	const nobody = "no method that is run learns from past tasks"
	transfers := some(func(m bench.Method) bool { return m.Transfers })
	for _, f := range []struct {
		name string
		idle bool
		why  string
	}{
		{"sources", p.Own, "HPO-B's protocol says which tasks are past"},
		{"initial", p.Own, "HPO-B's protocol has initial configurations of its own"},
		{"past", !transfers, nobody}, {"sources", !transfers, nobody}, {"source-rows", !transfers, nobody},
		{"clusters", !some(func(m bench.Method) bool { return m.Clusters }), "no method that is run by it clusters"},
		{"acquisition", !some(func(m bench.Method) bool { return m.Use != baseline.NoAcquisition }),
			"no method that is run has one"},
	} {
		if c.given[f.name] && f.idle {
			return fmt.Errorf("-%s changes nothing: %s", f.name, f.why)
		}
	}
	return nil
}

// settle makes the protocol.
func (c *overrides) settle(o *options) error {
	var err error
	if o.protocol, err = bench.FindProtocol(cmp.Or(o.experiment, "paper")); err != nil {
		return fmt.Errorf("-experiment: %w, curves", err)
	}
	p := &o.protocol
	if o.experiment == "" {
		p.Methods, p.Acquisitions, p.Clusters = []string{"cm-BO"}, []string{"EI"}, [2]int{4, 4}
		if len(c.set.Methods) > 1 || len(c.set.Acquisitions) > 1 {
			return errors.New("several methods or acquisitions need an -experiment")
		}
	} else if o.out == "" {
		return errors.New("-experiment needs a folder for -out")
	}
	p.Seed, p.Past = c.set.Seed, c.set.Past
	if len(c.ablate) > 0 {
		if o.experiment == "" || len(c.set.Methods) > 0 {
			return errors.New("-ablate needs an -experiment, and compares with the default: no -method")
		}
		if names, _ := cmbo.Ablations(); len(c.ablate) == 1 && c.ablate[0] == "all" {
			c.ablate = names
		}
		o.ablate, p.Acquisitions = true, []string{"EI"}
		p.Methods = append([]string{"cm-BO"}, each.Of(c.ablate, bench.Ablated)...)
	}
	for _, n := range numbers {
		if c.given[n.name] {
			*n.of(p) = *n.of(&c.set)
		}
	}
	if c.given["clusters"] {
		p.Clusters = c.set.Clusters
	}
	if len(c.set.Methods) > 0 {
		p.Methods = c.set.Methods
	}
	if len(c.set.Acquisitions) > 0 {
		p.Acquisitions = c.set.Acquisitions
	}
	for _, a := range p.Acquisitions {
		if _, err := cmbo.ParseAcquisition(a); err != nil {
			return fmt.Errorf("-acquisition: %w", err)
		}
	}
	for i, name := range p.Methods {
		p.Methods[i] = spelled(name)
	}
	return p.Check()
}

// spelled returns the name of a method as it is called in records.
func spelled(name string) string {
	if strings.EqualFold(name, "cmbo") {
		return paper.WssClusWssCMP.String()
	}
	m, _ := names.Find(bench.Methods(), func(m bench.Method) string { return m.Name }, "method", name)
	return cmp.Or(m.Name, name)
}

// parseRange reads "4" or "2-6".
func parseRange(s string) (r [2]int, err error) {
	lo, hi, ranged := strings.Cut(s, "-")
	if r[0], err = strconv.Atoi(lo); err != nil {
		return r, err
	}
	if r[1] = r[0]; ranged {
		r[1], err = strconv.Atoi(hi)
	}
	return r, err
}
