package history

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/each"
)

// form holds the settings that a CSV and a JSONLines share, filled in.
type form struct {
	Mapping
	space   *cmbo.Space
	params  []column
	columns []string  // by parameter
	fill    []float64 // defaults by parameter
	filled  []bool
	outputs []output // in the order of their names
	context []output // likewise

	value, task, noise, status      string // all but value empty if there is none
	needTask, needNoise, needStatus bool   // the column was named by the caller
	needCurve                       bool   // likewise
	config, curve                   string // of JSON lines; config empty if parameters stand beside the value
	taskID                          string
	limits                          Limits
}

// newForm fills in the settings; [form.apart] checks them once all are there.
func newForm(s *cmbo.Space, m Mapping, value, task, noise, taskID string, limits Limits) (n form, err error) {
	if err := s.Defined(); err != nil {
		return n, err
	}
	if limits, err = limits.filled(); err != nil {
		return n, err
	}
	n = form{Mapping: m, space: s, params: columns(s), value: cmp.Or(value, "value"), taskID: cmp.Or(taskID, "task"),
		limits: limits}
	if err := n.ready(); err != nil {
		return n, err
	}
	n.task, n.needTask = named(task, "task")
	n.noise, n.needNoise = named(noise, "noise_variance")
	n.status, n.needStatus = named(m.Status, "status")
	if taken := append([]string{n.value, n.task, n.noise}, n.columns...); !n.needStatus &&
		slices.Contains(taken, n.status) {
		n.status = ""
	}
	return n, nil
}

// named returns the name of a column, the preset one if none is given, or none for "-", and whether
// one was given, which the file must have.
func named(name, preset string) (column string, need bool) {
	if name == "-" {
		return "", false
	}
	return cmp.Or(name, preset), name != ""
}

func (n form) others() []output { return slices.Concat(n.outputs, n.context) }

// A place is what has a name in a file.
type place struct {
	object, what, name string
	must               bool // the header of a CSV file has it
}

// places lists the parameters, and after them what stands beside the value; what has no name the file does not have.
func (n form) places() []place {
	all := each.Below(len(n.columns), func(i int) place {
		return place{n.config, fmt.Sprintf("parameter %q", n.params[i].param.Name()), n.columns[i], !n.filled[i]}
	})
	all = append(all, place{"", "Value", n.value, true}, place{"", "Task", n.task, n.needTask},
		place{"", "Noise", n.noise, n.needNoise},
		place{"", "Status", n.status, n.needStatus}, place{"", "Curve", n.curve, false}, place{"", "Config", n.config, false})
	return append(all, each.Of(n.others(), func(o output) place {
		return place{"", fmt.Sprintf("%s %q", o.noun, o.name), o.column, false}
	})...)
}

// recased is the error of a column that nothing wants, and whose name is, but for its case, that of one that may be
// missing and is: passed over, it would make one task of all, or values of failures.
func recased[T any](n *form, at map[string]T) *RowError {
	for _, name := range []string{n.task, n.noise, n.status} {
		_, there := at[name]
		for _, is := range slices.Sorted(maps.Keys(at)) {
			wanted := func(p place) bool { return p.name == is }
			if !there && strings.EqualFold(is, name) && !slices.ContainsFunc(n.places(), wanted) {
				return rowErrorf(cmbo.ErrCorrupt, "it differs from %q in case; Task, Noise or Status says which is meant, "+
					"\"-\" that there is none", name).in(is, "")
			}
		}
	}
	return nil
}

// apart makes sure that each place in the file has a name of its own that can be written.
// Parameters in an object of their own may be called like what stands beside it.
func (n form) apart() error {
	of := make(map[[2]string]string) // what has a name in an object
	for i, p := range n.places() {
		if why := unwritable(p.name); why != "" && i >= len(n.columns) {
			return fmt.Errorf("%w: the name %q of %s %s", cmbo.ErrOption, p.name, p.what, why)
		}
		key := [2]string{p.object, p.name}
		if other, taken := of[key]; taken && p.name != "" {
			return fmt.Errorf("%w: %q is the name of both %s and %s; give one of them another, or set Task, Noise or Status to \"-\"", cmbo.ErrOption, p.name, other, p.what)
		}
		of[key] = p.what
	}
	return nil
}

// toWrite returns what a writer writes, as rows of the space, and n with the outputs and the descriptors
// of the tasks, if nothing else names them, and a status only if there has to be one. It fails for what a
// reader, which finds a choice in the field that choice returns, would not take or not give back.
func (n form) toWrite(w io.Writer, s *cmbo.Space, tasks []cmbo.Task,
	choice func(text string) field) (form, []cmbo.Task, error) {
	tasks, err := checkTasks(w, s, tasks)
	if err != nil {
		return n, nil, err
	}
	if n.task == "" && len(tasks) > 1 {
		return n, nil, fmt.Errorf("%w: %d tasks for a file without the ID of each", cmbo.ErrTask, len(tasks))
	}
	outputs, context := make(map[string]string), make(map[string]string)
	failures := false
	for i := range tasks {
		t := &tasks[i]
		for _, name := range slices.Concat(t.Outputs.Names(), t.FailedOutputs.Names()) {
			outputs[name] = ""
		}
		for name := range t.Context {
			context[name] = ""
		}
		if failures = failures || len(t.Failed) > 0; failures && n.status == "" {
			return n, nil, fmt.Errorf("%w: task %q has failures, and there is no column for a status", cmbo.ErrOption, t.ID)
		}
		if n.curve != "" && n.noise == "" && slices.ContainsFunc(t.Curves, func(c cmbo.Curve) bool { return c.Stopped }) {
			return n, nil, fmt.Errorf("%w: task %q has curves that were stopped, and there is no key for noise variances",
				cmbo.ErrOption, t.ID)
		}
	}
	if n.Outputs == nil {
		n.outputs, err = readyColumns("output", outputs)
	}
	if n.Context == nil && err == nil {
		n.context, err = readyColumns("descriptor", context)
	}
	if err == nil {
		err = n.apart()
	}
	for _, t := range tasks {
		for _, o := range n.context {
			text, is := t.Context[o.name].(string)
			why := unwritable(text)
			if back, _ := n.descriptor(choice(text)); why == "" && back != text {
				why = "would not be read back as it is"
			}
			if is && why != "" && err == nil {
				err = fmt.Errorf("%w: task %q: the choice %q of descriptor %q %s", cmbo.ErrOption, t.ID, text, o.name, why)
			}
		}
	}
	if !failures && !n.needStatus {
		n.status = ""
	}
	return n, tasks, err
}

func checkID(id string) *RowError {
	switch {
	case id == "":
		return rowErrorf(cmbo.ErrTask, "no task ID")
	case !utf8.ValidString(id):
		return rowErrorf(cmbo.ErrTask, "a task ID that is not UTF-8")
	}
	return nil
}

// Files that are no text, by how they begin, and what to do with them.
var notText = []struct{ mark, reason string }{
	{"\xff\xfe", "the text is UTF-16; it must be UTF-8"},
	{"\xfe\xff", "the text is UTF-16; it must be UTF-8"},
	{"SQLite format 3\x00", "a SQLite database, which is not read here; of Optuna's, make a journal with " +
		`optuna.copy_study(from_study_name="NAME", from_storage="sqlite:///FILE", to_storage=JournalStorage(JournalFileBackend("NAME.log"))) ` +
		"and read it with history.Optuna; of MLflow's, write mlflow.search_runs(search_all_experiments=True).to_csv(\"runs.csv\") and read it with history.MLflow"},
	{"\x1f\x8b", "the input is packed with gzip; unpack it"},
	{"PK\x03\x04", "a ZIP archive, as workbooks are; save the sheet as CSV"},
}

// skipMark skips a byte order mark and refuses what is no text in UTF-8.
func skipMark(br *bufio.Reader) error {
	head, _ := br.Peek(16)
	for _, f := range notText {
		if bytes.HasPrefix(head, []byte(f.mark)) {
			return rowErrorf(cmbo.ErrCorrupt, "%s", f.reason).at(1)
		}
	}
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		_, err := br.Discard(len("\ufeff"))
		return err
	}
	return nil
}
