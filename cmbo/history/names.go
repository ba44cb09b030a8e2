package history

import (
	"bufio"
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo"
)

// names holds the settings that a CSV and a JSONLines share, filled in.
type names struct {
	value, task, noise string // task and noise empty if there is none
	needTask           bool   // the column was named by the caller
	needNoise          bool
	taskID             string
	limits             Limits
}

func newNames(value, task, noise, taskID string, limits Limits) (n names, err error) {
	if limits, err = limits.filled(); err != nil {
		return n, err
	}
	n = names{value: value, task: task, noise: noise, taskID: taskID, limits: limits}
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
		if why := unwritable(s); why != "" {
			return n, fmt.Errorf("%w: the name %q %s", cmbo.ErrOption, s, why)
		}
	}
	return n, nil
}

// apart makes sure that no parameter has the name of another field.
func (n names) apart(s *cmbo.Space) error {
	for _, p := range s.Params() {
		if p.Name() == n.value || p.Name() == n.task || p.Name() == n.noise {
			return fmt.Errorf("%w: the column %q is a parameter; set Value, Task or Noise to another name, or Task or Noise to \"-\"", cmbo.ErrOption, p.Name())
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

// skipMark skips a byte order mark and refuses those of other encodings.
func skipMark(br *bufio.Reader) error {
	head, _ := br.Peek(3)
	switch {
	case bytes.HasPrefix(head, []byte("\ufeff")):
		_, err := br.Discard(3)
		return err
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return &RowError{Line: 1, Reason: "the text is UTF-16; it must be UTF-8", Err: cmbo.ErrCorrupt}
	}
	return nil
}
