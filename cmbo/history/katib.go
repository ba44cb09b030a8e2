package history

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/names"
)

// A Katib describes what to take from the trials of Katib's experiments, kubeflow.org/v1beta1, as
//
//	kubectl get trials.kubeflow.org --all-namespaces --output json
//
// writes them.
type Katib struct {
	// Space declares the parameters. Required. Trials may have further ones, which are passed over.
	Space *cmbo.Space
	// Metric takes only trials of that objective metric. If it is empty, all trials must have the same.
	Metric string
	// Outputs names further metrics, which become the Outputs of the tasks: of each the value
	// by its strategy, without one the latest. One that is not a finite number is missing;
	// one that no trial has ends the reading with [ErrColumn], whatever the Policy.
	Outputs []string
	// Seconds, if it is not empty, names an output for the time from a trial's start to its
	// completion, what it cost say; one that lacks either, or does not end after its start, lacks it.
	Seconds string
	// Direction makes the values of all tasks go one way: those of experiments of the other
	// direction change their sign. Unset takes them as recorded, and the experiments must agree.
	Direction Direction
	Policy    Policy
	Limits    Limits // Line does not apply
}

// A KatibResult is what [Katib.Read] makes of trials: a task an experiment, whose ID is "namespace/name".
type KatibResult struct {
	Result
	// Minimize reports whether small values of the tasks are good: learn with cmbo.WithMinimize then.
	Minimize bool
	// Metric is the objective metric of the trials read.
	Metric string
}

// Read reads lists and single objects, one or more after the other, and passes over other kinds.
//
// A trial that has succeeded or was stopped early is an observation: the value of its objective metric by its strategy, the
// least, the greatest or the latest; without one the least of a metric to be minimised, the greatest of one to be maximised.
// A trial of the space that has failed, whose metrics are not available, or whose value is no finite number is a failure.
// Others that failed, that run, were killed, or were stopped before they gave a value are passed over.
//
// Assignments are read as the cells of a [CSV]; values between the steps of a parameter become the
// nearest, as Adopt of [cmbo.Space] has it. A trial is bad if it lacks a parameter of the space or
// lies outside it, has no experiment or objective, or is there twice; its [*RowError] gives the line
// on which it begins. Whatever the Policy, Read fails with cmbo's ErrCorrupt if the text is not JSON
// of this shape, ErrTask if objective metrics or directions differ, and ErrNoTasks without a value.
func (k Katib) Read(r io.Reader) (*KatibResult, error) {
	if err := k.Space.Defined(); err != nil {
		return nil, err
	}
	outputs := each.Of(k.Outputs, func(name string) output { return output{"output", name, name} })
	k.Limits.String = cmp.Or(k.Limits.String, 2<<20) // objects of a cluster have no more than 1.5 MiB
	c, err := oriented(k.Space, k.Policy, &k.Limits, k.Direction, k.Seconds, k.Outputs)
	if err != nil {
		return nil, err
	}
	b := bufio.NewReaderSize(bounded(r, k.Limits.Bytes), 1<<16)
	if err := skipMark(b); err != nil {
		return nil, err
	}
	t := katibReader{Katib: k, scanner: &scanner{r: b, limits: k.Limits}, collector: c,
		sightings: newSightings(outputs, "no trial has this metric", k.Limits),
		columns:   columns(k.Space), seen: make(map[string]bool)}
	if head, _ := b.Peek(len("apiVersion")); string(head) == "apiVersion" {
		return nil, rowErrorf(cmbo.ErrCorrupt, "YAML; kubectl's --output json gives what is read").at(1)
	}
	more, err := t.more()
	for ; more && err == nil; more, err = t.more() {
		if err := t.item(true); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	if r := c.report; r.Rows == 0 && r.PassedOver > 0 {
		return nil, rowErrorf(cmbo.ErrNoTasks, "none of %d trials is of the objective and has ended; the last is about %q",
			r.PassedOver, names.Clip(t.latest))
	}
	done, err := c.finish("trials", t.lack)
	if err != nil {
		return nil, err
	}
	return &KatibResult{Result: *done, Minimize: t.direction == Minimize, Metric: t.metric}, nil
}

type katibReader struct {
	Katib
	*scanner
	*collector
	*sightings
	columns   []column
	seen      map[string]bool
	latest    string    // objective of a trial, one passed over too
	metric    string    // of the objectives, once one is known
	direction Direction // of the values, once one is known
	witness   string    // the trial of which they are known
}

type katibTrial struct {
	kind     katibText
	metadata struct {
		Name, Namespace katibText
		Labels          map[string]katibText
		OwnerReferences []struct{ Kind, Name katibText }
	}
	spec struct {
		Objective struct {
			Type, ObjectiveMetricName katibText
			MetricStrategies          katibPairs
		}
		ParameterAssignments katibPairs
	}
	status struct {
		Conditions                []katibCondition
		StartTime, CompletionTime katibText
		Observation               struct {
			Metrics []struct{ Name, Min, Max, Latest katibText }
		}
	}
	name, metric string
	objective    Direction
}

type katibCondition struct{ Type, Status katibText }

// katibText is a string, or what tools that rewrite files make of one, the text of a number; other values count as none.
type katibText string

func (t *katibText) UnmarshalJSON(b []byte) error {
	s, ok := jsonString(b)
	if !ok {
		s, _ = jsonNumber(b)
	}
	*t = katibText(s)
	return nil
}

// katibPairs are values by name.
type katibPairs []struct{ Name, Value katibText }

func (p katibPairs) last(name string) (value string, ok bool) {
	for _, q := range slices.Backward(p) {
		if string(q.Name) == name {
			return string(q.Value), true
		}
	}
	return "", false
}

// item reads an object: a trial, or, outermost, maybe a list.
func (k *katibReader) item(outermost bool) error {
	_, _ = k.peek() // so that the line is that of the object
	line := k.line + 1
	var t katibTrial
	parts := map[string]any{"kind": &t.kind, "metadata": &t.metadata, "spec": &t.spec, "status": &t.status}
	err := k.object(func(name string) error {
		part, wanted := parts[name]
		switch {
		case name == "items" && outermost:
			return k.array(func() error { return k.item(false) })
		case wanted && (name == "kind" || t.kind == "" || t.kind == "Trial"):
			return k.value(part)
		}
		return k.scanner.skip()
	})
	if err != nil || t.kind != "Trial" {
		return err
	}
	t.name, t.metric = string(t.metadata.Name), string(t.spec.Objective.ObjectiveMetricName)
	k.latest = t.metric
	t.objective = map[katibText]Direction{"minimize": Minimize, "maximize": Maximize}[t.spec.Objective.Type]
	return k.trial(&t, line)
}

// array reads a list, or null in its place.
func (k *katibReader) array(entry func() error) error {
	if c, _ := k.peek(); c == 'n' {
		return k.scanner.skip()
	}
	return k.scanner.array(entry)
}

// unavailable is what Katib writes for a value that was not reported.
const unavailable = "unavailable"

// valueOf returns the text of a metric by its strategy, or the one given where it has none of its
// own; empty or "unavailable" if there is no value.
func (t *katibTrial) valueOf(metric, otherwise string) string {
	strategy, ok := t.spec.Objective.MetricStrategies.last(metric)
	if !ok {
		strategy = otherwise
	}
	for _, m := range slices.Backward(t.status.Observation.Metrics) {
		if string(m.Name) != metric {
			continue
		}
		if s := map[string]katibText{"min": m.Min, "max": m.Max}[strategy]; s != "" && s != unavailable {
			return string(s)
		}
		return string(m.Latest)
	}
	return ""
}

// experiment returns the ID of the trial's task.
func (t *katibTrial) experiment() string {
	var owner katibText
	for _, o := range t.metadata.OwnerReferences {
		if o.Kind == "Experiment" {
			owner = o.Name
		}
	}
	labels := t.metadata.Labels
	name := cmp.Or(owner, labels["katib.kubeflow.org/experiment"], labels["experiment"])
	if name != "" && t.metadata.Namespace != "" {
		name = t.metadata.Namespace + "/" + name
	}
	return string(name)
}

// trial takes a trial whose object begins on the line.
func (k *katibReader) trial(t *katibTrial, line int) error {
	r := row{id: t.experiment()}
	for _, m := range t.status.Observation.Metrics {
		k.see(slices.Values([]string{string(m.Name)}))
	}
	bad := func(e *RowError) error {
		e.Reason = fmt.Sprintf("trial %q: %s", names.Clip(t.name), e.Reason)
		return k.take(r.failed(e), line)
	}
	is := func(types ...string) bool {
		return slices.ContainsFunc(t.status.Conditions, func(c katibCondition) bool {
			return c.Status == "True" && slices.Contains(types, string(c.Type))
		})
	}
	text := t.valueOf(t.metric, map[Direction]string{Minimize: "min", Maximize: "max"}[t.objective])
	y, numeric := number(text, cmbo.ErrValue)
	if numeric == nil {
		numeric = checkValue(y)
	}
	switch {
	case k.Metric != "" && t.metric != k.Metric:
		r.outcome = passedOver
	case is("MetricsUnavailable", "Failed"):
		r.outcome = hasFailed
	case !is("EarlyStopped", "Succeeded"), is("EarlyStopped") && (text == "" || text == unavailable):
		r.outcome = passedOver
	case numeric != nil:
		r.outcome = hasFailed
	}
	if r.outcome == passedOver {
		return k.take(r, line)
	}
	if r.id == "" || t.metric == "" || t.objective == Unset {
		r.outcome = hasValue
		return bad(rowErrorf(cmbo.ErrTask, "no experiment or no objective"))
	}
	key := string(t.metadata.Namespace) + "/" + t.name
	if k.seen[key] {
		return bad(rowErrorf(cmbo.ErrCorrupt, "the trial is there twice"))
	}
	k.seen[key] = true
	if e := k.agree(t); e != nil {
		return e.at(line)
	}
	if k.Direction != Unset && k.Direction != t.objective {
		y = -y
	}
	r.y = y
	for _, name := range k.Outputs {
		if v, e := number(t.valueOf(name, "latest"), cmbo.ErrValue); e == nil && checkValue(v) == nil {
			r.output(name, v)
		}
	}
	if k.Seconds != "" {
		start, bad := time.Parse(time.RFC3339, string(t.status.StartTime))
		end, worse := time.Parse(time.RFC3339, string(t.status.CompletionTime))
		if s := end.Sub(start).Seconds(); bad == nil && worse == nil && s > 0 {
			r.output(k.Seconds, s)
		}
	}
	r.x = make([]float64, len(k.columns))
	texts := make([]string, len(k.columns))
	for i, c := range k.columns {
		var ok bool
		if texts[i], ok = t.spec.ParameterAssignments.last(c.param.Name()); !ok {
			return bad(rowErrorf(cmbo.ErrOutOfSpace, "no such parameter").in(c.param.Name(), ""))
		}
		var e *RowError
		if r.x[i], e = c.fromText(texts[i]); e != nil {
			return bad(e.in(c.param.Name(), texts[i]))
		}
	}
	x, moved, err := k.Space.Snap(r.x)
	if err != nil {
		return bad(outside(err, k.columns, func(i int) string { return texts[i] }))
	}
	if moved {
		r.x, r.snapped = x, true
	}
	return k.take(r, line)
}

// agree makes sure that all trials have one objective.
func (k *katibReader) agree(t *katibTrial) *RowError {
	d := cmp.Or(k.Direction, t.objective)
	if k.witness == "" {
		k.metric, k.direction, k.witness = t.metric, d, t.name
	}
	var e *RowError
	switch {
	case t.metric != k.metric:
		e = rowErrorf(cmbo.ErrTask, "the trial %q is about %q, but %q about %q; Katib.Metric says which to take",
			names.Clip(t.name), names.Clip(t.metric), names.Clip(k.witness), names.Clip(k.metric))
	case d != k.direction:
		e = rowErrorf(cmbo.ErrTask, "the trial %q is to %s, but %q to %s; set Katib.Direction, or read fewer experiments",
			names.Clip(t.name), d, names.Clip(k.witness), k.direction)
	default:
		return nil
	}
	e.Task = t.experiment()
	return e
}
