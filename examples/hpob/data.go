package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/internal/each"
)

// histories are the settings that say how a user's own histories are read.
type histories struct {
	format      string
	value, task string
	minimize    bool
	skip        bool
}

var formats = []string{"hpob", "csv", "jsonlines", "optuna", "optuna-frame", "mlflow", "wandb"}

// formatOf returns the format of a file, told by its name if it is not given.
func (h histories) formatOf(path string) string {
	ends := map[string]string{".csv": "csv", ".jsonl": "jsonlines", ".ndjson": "jsonlines", ".log": "optuna",
		".journal": "optuna"}
	return cmp.Or(h.format, ends[strings.ToLower(filepath.Ext(path))], "hpob")
}

// open reads the tables: of files in HPO-B's format all spaces unless one is named, of histories one table of all files.
func open(o *options, stdout io.Writer) ([]*bench.Table, error) {
	own := each.Count(o.data, func(path string) bool { return o.past.formatOf(path) != "hpob" })
	switch {
	case own == len(o.data):
		t, err := o.past.open(o.data, o.space, stdout)
		return []*bench.Table{t}, err
	case own > 0:
		return nil, errors.New("-data: files in HPO-B's format and histories do not go together")
	case o.past.task != "":
		return nil, errors.New("-task is for histories; in HPO-B's format tasks have names")
	}
	var tables []*bench.Table
	for _, path := range o.data {
		spaces := []string{o.space}
		if o.space == "" {
			var err error
			if spaces, err = bench.Spaces(path); err != nil {
				return nil, err
			}
		}
		for _, space := range spaces {
			t, err := o.past.table(path, space, stdout)
			if err != nil {
				return nil, skippable(fmt.Errorf("%s: %w", path, err))
			}
			tables = append(tables, announce(t, stdout))
		}
	}
	return tables, nil
}

// table reads a space of a table in HPO-B's format. HPO-B's own, a directory, has
// neither bad rows nor values to be minimised.
func (h histories) table(path, space string, stdout io.Writer) (*bench.Table, error) {
	if !h.skip && !h.minimize && h.value == "" {
		return bench.OpenTable(path, space)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, errors.New("-value, -skip and -minimize are for files, not for HPO-B's directory")
	}
	got, err := h.hpob(path, space)
	if err != nil {
		return nil, err
	}
	if got.Report.Skipped > 0 {
		fmt.Fprintf(stdout, "%s: %v\n", path, got.Report)
	}
	t, err := bench.NewTable(got.Name, got.Space, got.Tasks, h.minimize)
	if err == nil {
		t.Duplicates = got.Repeated
	}
	return t, err
}

func (h histories) hpob(path, space string) (*history.HPOBResult, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return history.HPOB{Name: space, Value: h.value, Policy: h.policy(), Limits: history.Limits{Bytes: maxTable}}.Read(f)
}

// maxTable bounds a table, unpacked, in bytes, as bench.OpenTable does.
const maxTable = 8 << 30

func (h histories) policy() history.Policy {
	if h.skip {
		return history.Skip
	}
	return history.Fail
}

// skippable names the flag that passes over an error.
func skippable(err error) error {
	var row *history.RowError
	if errors.As(err, &row) && row.Skippable {
		return fmt.Errorf("%w; here that is the flag -skip", err)
	}
	return err
}

func announce(t *bench.Table, stdout io.Writer) *bench.Table {
	left := ""
	if constant := each.Count(t.Tasks, func(k bench.TableTask) bool { return k.Constant() }); constant > 0 {
		left = fmt.Sprintf(", %d of them left out, whose values are all equal", constant)
	}
	fmt.Fprintf(stdout, "space %s: %d tasks%s, %d coordinates, %d repeated rows dropped\n",
		t.Space, len(t.Tasks), left, t.Dim, t.Duplicates)
	return t
}

// open reads histories of one space.
func (h histories) open(paths []string, spaceFile string, stdout io.Writer) (*bench.Table, error) {
	var space *cmbo.Space
	name := base(paths[0])
	if spaceFile != "" {
		text, err := os.ReadFile(spaceFile)
		if err != nil {
			return nil, fmt.Errorf("-space: of a history it is the file that describes the parameters: %w", err)
		}
		space, name = new(cmbo.Space), base(spaceFile)
		if err := json.Unmarshal(text, space); err != nil {
			return nil, fmt.Errorf("-space %s: %w", spaceFile, err)
		}
	}
	var tasks []cmbo.Task
	for _, path := range paths {
		got, err := h.read(path, space)
		if err != nil {
			return nil, skippable(fmt.Errorf("%s: %w", path, err))
		}
		if space == nil {
			if len(paths) > 1 {
				return nil, errors.New("several histories need a -space FILE that describes their parameters")
			}
			space = got.Space
		}
		tasks = append(tasks, got.Tasks...)
		fmt.Fprintf(stdout, "%s: %d tasks, %v\n", path, len(got.Tasks), got.Report)
	}
	t, err := bench.NewTable(name, space, tasks, h.minimize)
	if err != nil {
		return nil, err
	}
	return announce(t, stdout), nil
}

// base is the name of a file without folder and extension.
func base(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

func (h histories) read(path string, space *cmbo.Space) (*history.Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	format := h.formatOf(path)
	switch {
	case format == "optuna" && (h.value != "" || h.task != "" || h.minimize):
		return nil, errors.New("-value, -task and -minimize change nothing: a journal of Optuna says all of it")
	case format == "optuna":
		// Values of studies that minimise change their sign.
		got, err := history.Optuna{Space: space, Direction: history.Maximize, Policy: h.policy()}.Read(f)
		if err != nil {
			return nil, err
		}
		return &got.Result, nil
	case space == nil:
		return nil, errors.New(`-space FILE is missing, which describes the parameters, such as {"params": [{"name": "lr", "kind": "logfloat", "lo": 1e-5, "hi": 1}]}`)
	case h.value == "" && (format == "mlflow" || format == "wandb"):
		return nil, errors.New("-value is missing, the name of the metric")
	case format == "jsonlines":
		return history.JSONLines{Space: space, Value: h.value, Task: h.task, TaskID: base(path), Policy: h.policy()}.Read(f)
	}
	c := history.CSV{Space: space, Value: h.value}
	switch format {
	case "mlflow":
		c = history.MLflow(space, h.value)
	case "wandb":
		c = history.WandB(space, h.value, "")
	case "optuna-frame":
		c = history.OptunaFrame(space, "")
		c.Value = cmp.Or(h.value, c.Value)
	}
	c.Task, c.TaskID, c.Policy = cmp.Or(h.task, c.Task), base(path), h.policy()
	return c.Read(f)
}
