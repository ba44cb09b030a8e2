package history

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo"
)

// names holds the settings that a CSV and a JSONLines share, filled in.
type names struct {
	mapping
	value, task, noise string // task and noise empty if there is none
	needTask           bool   // the column was named by the caller
	needNoise          bool
	curve              string // of JSON lines
	taskID             string
	limits             Limits
}

func newNames(s *cmbo.Space, m Mapping, value, task, noise, taskID string, limits Limits) (n names, err error) {
	if limits, err = limits.filled(); err != nil {
		return n, err
	}
	ready, err := m.ready(s)
	if err != nil {
		return n, err
	}
	n = names{mapping: ready, value: value, task: task, noise: noise, taskID: taskID, limits: limits}
	n.needTask = task != "" && task != "-"
	n.needNoise = noise != "" && noise != "-"
	fill := func(s *string, preset string) {
		switch *s {
		case "":
			*s = preset
		case "-":
			*s = ""
		}
	}
	if n.outputs, err = readyColumns("output", m.Outputs); err != nil {
		return n, err
	}
	if n.context, err = readyColumns("descriptor", m.Context); err != nil {
		return n, err
	}
	fill(&n.task, "task")
	fill(&n.noise, "noise_variance")
	if n.value == "" {
		n.value = "value"
	}
	if n.taskID == "" {
		n.taskID = "task"
	}
	if n.value == n.task || n.value == n.noise || n.task != "" && n.task == n.noise {
		return n, fmt.Errorf("%w: Value, Task and Noise are named %q, %q and %q", cmbo.ErrOption, n.value, n.task, n.noise)
	}
	for _, s := range []string{n.value, n.task, n.noise} {
		if s != "" && s == n.status {
			if n.needStatus {
				return n, fmt.Errorf("%w: Status is named %q, as is another column", cmbo.ErrOption, s)
			}
			n.status = ""
		}
	}
	for _, s := range []string{n.value, n.task, n.noise, n.status} {
		if why := unwritable(s); why != "" {
			return n, fmt.Errorf("%w: the name %q %s", cmbo.ErrOption, s, why)
		}
	}
	return n, n.outputsApart()
}

// outputsApart makes sure that no output or descriptor has the column of another field but a
// parameter.
func (n names) outputsApart() error {
	for i, o := range n.others() {
		if slices.ContainsFunc(n.others()[:i], func(p output) bool { return p.column == o.column }) {
			return fmt.Errorf("%w: the column %q is that of an output and of a descriptor", cmbo.ErrOption, o.column)
		}
		if o.column == n.value || o.column == n.task || o.column == n.noise || o.column == n.status {
			return fmt.Errorf("%w: the %s %q has the column %q, which is that of Value, Task, Noise or Status", cmbo.ErrOption, o.noun, o.name, o.column)
		}
	}
	return nil
}

// others returns the outputs and the descriptors.
func (n names) others() []output { return slices.Concat(n.outputs, n.context) }

// allOutputs returns n for a writer of tasks, whose outputs and descriptors it names if nothing
// else does.
func (n names) allOutputs(tasks []cmbo.Task) (_ names, err error) {
	outputs, context := make(map[string]string), make(map[string]string)
	for i := range tasks {
		for name := range tasks[i].Outputs {
			outputs[name] = ""
		}
		for name := range tasks[i].Context {
			context[name] = ""
		}
	}
	if n.Outputs == nil {
		if n.outputs, err = readyColumns("output", outputs); err != nil {
			return n, err
		}
	}
	if n.Context == nil {
		if n.context, err = readyColumns("descriptor", context); err != nil {
			return n, err
		}
	}
	return n, n.outputsApart()
}

// curveApart makes sure that curves have a key of their own.
func (n names) curveApart() error {
	if n.curve != "" && (slices.Contains([]string{n.value, n.task, n.noise, n.status}, n.curve) || slices.ContainsFunc(n.others(), func(o output) bool { return o.column == n.curve })) {
		return fmt.Errorf("%w: Curve is named %q, as is another key", cmbo.ErrOption, n.curve)
	}
	return nil
}

// apart makes sure that no parameter has the column of another field.
func (n names) apart() error {
	for _, o := range n.others() {
		if slices.Contains(n.columns, o.column) {
			return fmt.Errorf("%w: the column %q of %s %q is a parameter", cmbo.ErrOption, o.column, o.noun, o.name)
		}
	}
	for _, c := range n.columns {
		if c == n.value || c == n.task || c == n.noise || c == n.status || c == n.curve {
			return fmt.Errorf("%w: the column %q is a parameter; set Value, Task, Noise or Status to another name, or the last three to \"-\"", cmbo.ErrOption, c)
		}
	}
	return nil
}

// checkID checks a task's ID.
func checkID(id string) *RowError {
	switch {
	case id == "":
		return rowErrorf(cmbo.ErrTask, "no task ID")
	case !utf8.ValidString(id):
		return rowErrorf(cmbo.ErrTask, "a task ID that is not UTF-8")
	}
	return nil
}

// skipMark skips a byte order mark, refuses those of other encodings, and says
// what to do with files that are no text.
func skipMark(br *bufio.Reader) error {
	head, _ := br.Peek(16)
	refuse := func(format string, args ...any) error {
		return &RowError{Line: 1, Reason: fmt.Sprintf(format, args...), Err: cmbo.ErrCorrupt}
	}
	switch {
	case bytes.HasPrefix(head, []byte("\ufeff")):
		_, err := br.Discard(3)
		return err
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return refuse("the text is UTF-16; it must be UTF-8")
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return refuse("a SQLite database, which is not read here; of Optuna's, make a journal with " +
			`optuna.copy_study(from_study_name="NAME", from_storage="sqlite:///FILE", to_storage=JournalStorage(JournalFileBackend("NAME.log"))) ` +
			"and read it with history.Optuna; of MLflow's, write mlflow.search_runs(search_all_experiments=True).to_csv(\"runs.csv\") and read it with history.MLflow")
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return refuse("the input is packed with gzip; unpack it")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return refuse("a ZIP archive, as workbooks are; save the sheet as CSV")
	}
	return nil
}
