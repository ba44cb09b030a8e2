package history

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/names"
)

// A Mapping says how the columns of a CSV file, or the keys of JSON lines, become parameters, and
// which rows count. The zero value maps names to themselves and takes all rows.
type Mapping struct {
	// Prefix stands before the name of each parameter: "params." for MLflow.
	Prefix string
	// Columns names, by parameter, the columns that are not Prefix and the parameter's name.
	Columns map[string]string
	// Defaults gives, by parameter, the value where the column is missing or the cell empty, as cmbo's Space.Row takes it.
	Defaults map[string]any
	// Outputs names, by output, the columns of further values, which become the Outputs of the tasks: that of the
	// output's name where it is empty. An empty cell, or a key that a line lacks, is a value that is missing, and
	// so is, of a failed evaluation, what is no number; a column that no row has ends the reading with [ErrColumn],
	// whatever the Policy. Nil reads none; a writer takes it for all that the tasks have, under their own names.
	Outputs map[string]string
	// Context names, by descriptor of a task, the columns that hold it, as Outputs does: a number
	// is a number, other text a choice, NaN is missing. An infinity is ErrValue, as no distance
	// between tasks follows from it: leave it out, or give it a word such as "unlimited". A row may
	// leave a descriptor out; two rows of a task that differ end the reading, whatever the Policy.
	Context map[string]string
	// Status names the column that says how an evaluation ended, "status" if
	// empty; "-" says that there is none. A status named here must be there.
	Status string
	// Done lists the statuses of rows with a value; nil stands for all that are not in Failed. Failed
	// lists those of evaluations that failed, whose points, if they are in the space, become failures
	// of the task; nil stands for "failed". Case and space around do not matter. Other rows are passed over.
	Done, Failed []string
	// Parse replaces the text of the cells of parameters and numbers before it is read; an error makes
	// the row a bad one. In JSON lines it is given the text of strings and the JSON of other values.
	Parse func(column, text string) (string, error)
	// DecimalComma reads 0,5 as a half in the cells of numbers. Points are an error then, and so are separators of thousands.
	DecimalComma bool
}

// MLflow returns the description of what mlflow.search_runs(...).to_csv() writes: runs with the given
// metric, an experiment a task, named by its ID. FINISHED runs have a value, FAILED ones are failures.
// MLflow does not say whether the metric is to be minimised.
func MLflow(space *cmbo.Space, metric string) CSV {
	return CSV{
		Space: space, Value: "metrics." + metric, Task: "experiment_id", Noise: "-",
		Mapping: Mapping{Prefix: "params.", Status: "status", Done: []string{"FINISHED"}, Failed: []string{"FAILED"}},
	}
}

// OptunaFrame returns the description of what study.trials_dataframe().to_csv() writes for a study of one objective: one
// task of the given ID. COMPLETE trials have a value, FAIL ones are failures; to take pruned trials, too, add PRUNED to
// Done. A choice of None is an empty cell, for which Defaults may hold the choice's name. A journal tells more: [Optuna].
func OptunaFrame(space *cmbo.Space, taskID string) CSV {
	return CSV{
		Space: space, Value: "value", Task: "-", TaskID: taskID, Noise: "-",
		Mapping: Mapping{Prefix: "params_", Status: "state", Done: []string{"COMPLETE"}, Failed: []string{"FAIL"}},
	}
}

// WandB returns the description of the CSV file that the table of runs of Weights & Biases exports: one
// task of the given ID, unless Task is set to a column such as "Sweep" or "Group". Finished runs have
// a value, failed and crashed ones are failures.
func WandB(space *cmbo.Space, metric, taskID string) CSV {
	return CSV{
		Space: space, Value: metric, Task: "-", TaskID: taskID, Noise: "-",
		Mapping: Mapping{Status: "State", Done: []string{"finished"}, Failed: []string{"failed", "crashed"}},
	}
}

// output is a further value, or a descriptor, and its column.
type output struct{ noun, name, column string }

// readyColumns returns the columns of outputs or descriptors.
func readyColumns(noun string, columns map[string]string) (out []output, err error) {
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if err := space.CheckName(noun, name); err != nil {
			return nil, fmt.Errorf("%w: %w", cmbo.ErrOption, err)
		}
		out = append(out, output{noun, name, cmp.Or(columns[name], name)})
	}
	return out, nil
}

// ErrColumn says that no row of an input has the column, key or metric of an output, a descriptor or
// curves that are asked for; the Field of the [RowError] is its name. It wraps cmbo's ErrCorrupt.
var ErrColumn = fmt.Errorf("%w: no such column", cmbo.ErrCorrupt)

// sightings follows which columns of outputs and descriptors an input has.
type sightings struct {
	missing []output        // so far
	what    string          // says who lacks what
	names   map[string]bool // at most most of what the input has, clipped, for the message
	most    int
}

func newSightings(of []output, what string, limits Limits) *sightings {
	return &sightings{missing: of, what: what, names: make(map[string]bool), most: limits.Columns}
}

// see takes note of the columns of a row, as long as one is missing.
func (s *sightings) see(columns iter.Seq[string]) {
	if len(s.missing) == 0 {
		return
	}
	for name := range columns {
		s.missing = slices.DeleteFunc(s.missing, func(o output) bool { return o.column == name })
		if name = names.Clip(name); len(s.names) < s.most && !s.names[name] {
			s.names[strings.Clone(name)] = true
		}
	}
}

// lack is the error of a column that was not seen, nil if there is none: a misspelt one would
// leave the tasks without what was asked for.
func (s *sightings) lack() *RowError {
	if len(s.missing) == 0 {
		return nil
	}
	o := s.missing[0]
	return rowErrorf(ErrColumn, "%s, named for %s %q; there are %s",
		s.what, o.noun, o.name, names.Quote(32, slices.Sorted(maps.Keys(s.names)))).in(o.column, "")
}

// descriptor is what a field says of a task: a number where it is one, else a choice, nil where it is empty or NaN.
func (n *form) descriptor(f field) (any, *RowError) {
	if f.isJSON {
		return jsonDescriptor(f.raw)
	}
	text := strings.TrimSpace(f.text)
	switch {
	case text == "" || strings.EqualFold(text, "nan"):
		return nil, nil
	case !utf8.ValidString(text) || !utf8.Valid(f.raw):
		return nil, rowErrorf(cmbo.ErrTask, "not UTF-8")
	}
	if decimal, e := n.decimal(text); e == nil {
		v, e := number(decimal, cmbo.ErrTask)
		if e == nil || e.Err != cmbo.ErrTask {
			return v, e
		}
	}
	return strings.Clone(text), nil
}

// ready finds the columns and the defaults of the parameters, and the other columns.
func (n *form) ready() (err error) {
	if n.Failed == nil {
		n.Failed = []string{"failed"}
	}
	if n.outputs, err = readyColumns("output", n.Outputs); err != nil {
		return err
	}
	if n.context, err = readyColumns("descriptor", n.Context); err != nil {
		return err
	}
	known := make(map[string]int, len(n.params))
	n.fill, n.filled = make([]float64, len(n.params)), make([]bool, len(n.params))
	for i, c := range n.params {
		p := c.param
		known[p.Name()] = i
		c, ok := n.Columns[p.Name()]
		if !ok {
			c = n.Prefix + p.Name()
		}
		why := unwritable(c)
		if c == "" {
			why = "is empty"
		}
		if why != "" && c != p.Name() {
			return fmt.Errorf("%w: the column %q of parameter %q %s", cmbo.ErrOption, c, p.Name(), why)
		}
		n.columns = append(n.columns, c)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Columns)) {
		if _, ok := known[name]; !ok {
			return fmt.Errorf("%w: Columns has %q, which is not a parameter", cmbo.ErrOption, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Defaults)) {
		i, ok := known[name]
		if !ok {
			return fmt.Errorf("%w: Defaults has %q, which is not a parameter", cmbo.ErrOption, name)
		}
		single, _ := cmbo.NewSpace(n.params[i].param) // valid, as each parameter of a space is
		row, err := single.Row(map[string]any{name: n.Defaults[name]})
		if err != nil {
			return fmt.Errorf("%w: Defaults: %w", cmbo.ErrOption, err)
		}
		n.fill[i], n.filled[i] = row[0], true
	}
	return nil
}

// outcome is what a status says of a row.
type outcome uint8

const (
	hasValue outcome = iota
	hasFailed
	passedOver
)

func (n *form) outcome(status string) outcome {
	listed := func(list []string) bool {
		is := func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), strings.TrimSpace(status)) }
		return slices.ContainsFunc(list, is)
	}
	switch {
	case listed(n.Failed):
		return hasFailed
	case n.Done == nil || listed(n.Done):
		return hasValue
	}
	return passedOver
}

// parse runs the caller's own parsing.
func (n *form) parse(column, text string) (string, *RowError) {
	if n.Parse == nil {
		return text, nil
	}
	out, err := n.Parse(column, text)
	if err != nil {
		return "", &RowError{Reason: "Parse: " + err.Error(), Err: fmt.Errorf("%w: %w", cmbo.ErrCorrupt, err)}
	}
	return out, nil
}

// decimal turns a number's decimal comma into a point.
func (n *form) decimal(text string) (string, *RowError) {
	if !n.DecimalComma {
		return text, nil
	}
	if strings.Contains(text, ".") {
		return "", rowErrorf(cmbo.ErrCorrupt, "a point in a number with a decimal comma")
	}
	return strings.Replace(text, ",", ".", 1), nil
}

// number reads a measured value or a variance.
func (n *form) number(column string, f field, check func(float64) *RowError) (v float64, e *RowError) {
	switch text := f.text; {
	case f.isJSON && f.raw == nil:
		return 0, rowErrorf(cmbo.ErrValue, "missing")
	case f.isJSON:
		v, e = jsonFloat(f.raw, cmbo.ErrValue)
	default:
		if text, e = n.parse(column, text); e == nil {
			text, e = n.decimal(strings.TrimSpace(text))
		}
		if e == nil {
			v, e = number(text, cmbo.ErrValue)
		}
	}
	if e == nil {
		e = check(v)
	}
	return v, e
}

func (n *form) param(i int, c column, f field) (float64, *RowError) {
	switch {
	case !f.isJSON:
	case n.filled[i] && f.empty() && (f.raw == nil || !slices.Contains(c.choices, "null")):
		return n.fill[i], nil
	case f.raw == nil:
		return 0, rowErrorf(cmbo.ErrOutOfSpace, "missing")
	default:
		return c.fromJSON(f.raw)
	}
	text, e := n.parse(n.columns[i], f.text)
	if e == nil && c.param.Kind() != cmbo.KindCategorical {
		text, e = n.decimal(text)
	}
	if e != nil {
		return 0, e
	}
	if n.filled[i] && strings.TrimSpace(text) == "" && !slices.Contains(c.choices, text) {
		return n.fill[i], nil
	}
	return c.fromText(text)
}

// ended is the text of the status of an observation or of a failure, by default done or failed.
func (n *form) ended(o outcome) string {
	list, preset := n.Done, "done"
	if o == hasFailed {
		list, preset = n.Failed, "failed"
	}
	if len(list) > 0 {
		return list[0]
	}
	return preset
}

// comma gives a number the decimal sign wanted.
func (n *form) comma(text string) string {
	if n.DecimalComma {
		return strings.Replace(text, ".", ",", 1)
	}
	return text
}
