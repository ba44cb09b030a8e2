package history

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
)

// A DeepCAVE describes a run for DeepCAVE, a browser of tuning runs, whose
// converter for data frames reads two files in a folder: trials.csv and
// configspace.csv. The zero value of everything but Space is usable.
type DeepCAVE struct {
	// Space declares the parameters. Required.
	Space *cmbo.Space
	// Objective names the value, "value" if empty: letters of ASCII, digits
	// and underscores; not "Time", which DeepCAVE adds.
	Objective string
	// Minimize says that small values are good.
	Minimize bool
}

// Columns of trials.csv that are no parameters. DeepCAVE takes those whose
// names begin with "metric" for objectives.
var deepcaveColumns = []string{"config_id", "status", "start_time", "end_time", "budget", "seed", "trial"}

const deepcaveMetric = "metric"

var deepcaveName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// configSpacePlaces is the number of decimal places to which ConfigSpace,
// DeepCAVE's notion of a space, rounds all reals.
const configSpacePlaces = 13

// Write writes a run's observations, as cmbo.Optimizer.Observations returns
// them, to trials.csv and its space to configspace.csv. A row has status
// success, a second from its number on for its time, the number of the optimiser's
// trial in the column trial, and the budget 0. Repeated measurements of a point differ in the seed, 0, 1, ...,
// since DeepCAVE keeps one row a point, budget and seed. Noise variances are
// not written. The bounds of the objective are the smallest and the largest
// value.
//
// The writer changes or refuses what DeepCAVE would read as something else:
//
//   - Choices that its CSV reader takes for numbers, truth values or missing
//     values, and those that begin with an apostrophe, are put between
//     apostrophes. Booleans are choices of 'false' and 'true', ordinals ordered
//     choices of their numbers' texts. Steps are not written.
//   - Parameters of only one value stay out of configspace.csv; trials.csv has
//     them.
//   - ConfigSpace rounds reals to 13 decimal places; they are written so, with
//     at most 15 digits, and points that are equal then count as one. A range
//     that does not survive this is refused with cmbo's ErrSpace, and so are
//     names of parameters that clash with other columns or are taken for
//     something else than text.
//
// The observations are validated before the first byte is written; Write fails
// as cmbo.Optimizer.Observe does for invalid ones, with ErrNoTasks if there are
// none, and with the errors of the writers.
func (d DeepCAVE) Write(trials, configspace io.Writer, run []cmbo.Observation) error {
	if d.Space == nil {
		return fmt.Errorf("%w: a nil Space", cmbo.ErrSpace)
	}
	objective := d.Objective
	if objective == "" {
		objective = "value"
	}
	if !deepcaveName.MatchString(objective) || strings.EqualFold(objective, "time") {
		return fmt.Errorf("%w: %q cannot name DeepCAVE's objective", cmbo.ErrOption, objective)
	}
	task := cmbo.Task{ID: "run"}
	for _, o := range run {
		task.X, task.Y = append(task.X, o.X), append(task.Y, o.Y)
	}
	if len(run) == 0 {
		return fmt.Errorf("%w: no observations", cmbo.ErrNoTasks)
	}
	if err := checkTasks(d.Space, []cmbo.Task{task}); err != nil {
		return err
	}
	cols := columns(d.Space)
	if err := deepcaveCheck(cols); err != nil {
		return err
	}
	if err := writeConfigSpace(configspace, cols); err != nil {
		return err
	}
	goal := "maximize"
	if d.Minimize {
		goal = "minimize"
	}
	metric := fmt.Sprintf("%s:%s [%s; %s] (%s)", deepcaveMetric, objective, plain(slices.Min(task.Y)), plain(slices.Max(task.Y)), goal)
	w := csv.NewWriter(trials)
	fields := []string{"config_id"}
	for _, c := range cols {
		fields = append(fields, c.param.Name())
	}
	fields = append(fields, metric, "status", "start_time", "end_time", "budget", "seed", "trial")
	if err := w.Write(fields); err != nil {
		return err
	}
	ids := make(map[string]int)  // of configurations
	count := make(map[int]int)   // of measurements
	row := make([]string, 0, 64) // one configuration
	for i, o := range run {
		row = row[:0]
		for k, v := range o.X {
			row = append(row, deepcaveValue(cols[k], v))
		}
		key := fmt.Sprintf("%q", row)
		id, known := ids[key]
		if !known {
			id = len(ids)
			ids[key] = id
		}
		fields = append(fields[:0], strconv.Itoa(id))
		fields = append(fields, row...)
		fields = append(fields, asReal(o.Y), "success", strconv.Itoa(i), strconv.Itoa(i+1), "0", strconv.Itoa(count[id]), strconv.Itoa(o.Trial))
		count[id]++
		if err := w.Write(fields); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// plain writes a number without an exponent, as the pattern for bounds wants.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// constant reports whether the parameter has only one value.
func constant(p cmbo.Param) bool {
	lo, hi := p.Bounds()
	return lo == hi
}

// deepcaveCheck refuses spaces that DeepCAVE would not read as they are meant.
func deepcaveCheck(cols []column) error {
	fail := func(p cmbo.Param, format string, args ...any) error {
		return fmt.Errorf("%w: parameter %q: DeepCAVE: %s", cmbo.ErrSpace, p.Name(), fmt.Sprintf(format, args...))
	}
	varies := false
	for _, c := range cols {
		name := c.param.Name()
		if slices.Contains(deepcaveColumns, name) || strings.HasPrefix(name, deepcaveMetric) {
			return fail(c.param, "another column has the name")
		}
		if why := unwritable(name); why != "" || inferredType(name) {
			return fail(c.param, "the name is not read as text")
		}
		for _, choice := range c.choices {
			if why := unwritable(choice); why != "" {
				return fail(c.param, "the choice %q %s", choice, why)
			}
		}
		varies = varies || !constant(c.param)
		lo, hi := c.param.Bounds()
		switch c.param.Kind() {
		case cmbo.KindFloat, cmbo.KindLogFloat:
			a, b := short(lo), short(hi)
			if !(b-a > 0) || math.IsInf(b-a, 0) || c.param.Kind() == cmbo.KindLogFloat && !(a > 0) {
				return fail(c.param, "of the range [%g, %g] %d decimal places and 15 digits leave [%g, %g]", lo, hi, configSpacePlaces, a, b)
			}
		}
	}
	if !varies {
		return fmt.Errorf("%w: no parameter has more than one value", cmbo.ErrSpace)
	}
	return nil
}

// rounded is a real as ConfigSpace takes it.
func rounded(v float64) float64 {
	scale := math.Pow10(configSpacePlaces)
	return math.RoundToEven(v*scale) / scale
}

// short rounds to as many places as ConfigSpace has, and to 15 digits, which
// every reader of decimals gives back exactly: numbers that differ stay apart,
// and in their order.
func short(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(rounded(v), 'g', 15, 64), 64)
	return v
}

// bounds returns bounds to write for a range. Rounding by ConfigSpace, which
// beyond 900 can change the last bit, must not move them past values to write.
func bounds(lo, hi float64) (lower, upper float64) {
	outward := func(v, sign float64) float64 {
		b := short(v)
		limit := b
		for i := 0; i < 8 && sign*(rounded(b)-limit) < 0; i++ { // a unit of the 15th digit will do
			b = short(b + sign*1e-14*math.Abs(b))
		}
		return b
	}
	return outward(lo, -1), outward(hi, 1)
}

// deepcaveValue writes a parameter's value.
func deepcaveValue(c column, v float64) string {
	switch c.param.Kind() {
	case cmbo.KindCategorical, cmbo.KindBool, cmbo.KindOrdinal:
		return asText(c.text(v))
	case cmbo.KindInt, cmbo.KindLogInt:
		return plain(v)
	}
	return asReal(short(v))
}

// asReal writes a real so that it is not taken for an integer. Small ones have
// an exponent: pandas counts the zeros after the point among the digits that it
// reads, of which there are 17.
func asReal(v float64) string {
	if v != 0 && math.Abs(v) < 1 {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	s := formatFloat(v)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// asText writes a choice so that it is taken for text. Different choices stay
// different.
func asText(s string) string {
	if strings.HasPrefix(s, "'") || inferredType(s) {
		return "'" + s + "'"
	}
	return s
}

// missingMarks are the texts that pandas takes for a missing value.
var missingMarks = []string{
	"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
	"<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
}

// inferredType reports whether pandas may take a text for a number, a truth
// value or a missing value.
func inferredType(s string) bool {
	t := strings.TrimSpace(s)
	if slices.Contains(missingMarks, s) || t == "" || strings.EqualFold(t, "true") || strings.EqualFold(t, "false") {
		return true
	}
	_, err := strconv.ParseFloat(t, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// writeConfigSpace writes the parameters that vary.
func writeConfigSpace(w io.Writer, cols []column) error {
	most := 0 // choices
	for _, c := range cols {
		if !constant(c.param) {
			most = max(most, len(c.items()))
		}
	}
	out := csv.NewWriter(w)
	fields := []string{"name", "type", "log", "lower", "upper", "default", "distribution", "ordered"}
	for i := range most {
		fields = append(fields, fmt.Sprintf("item_%d", i))
	}
	if err := out.Write(fields); err != nil {
		return err
	}
	for _, c := range cols {
		if constant(c.param) {
			continue
		}
		lo, hi := c.param.Bounds()
		fields = append(fields[:0], c.param.Name())
		switch k := c.param.Kind(); k {
		case cmbo.KindFloat, cmbo.KindLogFloat:
			lo, hi = bounds(lo, hi)
			fields = append(fields, "float", pythonBool(k == cmbo.KindLogFloat), asReal(lo), asReal(hi), "", "uniform", "")
		case cmbo.KindInt, cmbo.KindLogInt:
			fields = append(fields, "integer", pythonBool(k == cmbo.KindLogInt), plain(lo), plain(hi), "", "uniform", "")
		default:
			fields = append(fields, "categorical", pythonBool(false), "", "", c.items()[0], "", pythonBool(k == cmbo.KindOrdinal))
		}
		items := c.items()
		for i := range most {
			if i < len(items) {
				fields = append(fields, items[i])
			} else {
				fields = append(fields, "")
			}
		}
		if err := out.Write(fields); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// items lists the values of a categorical, an ordinal or a boolean as they are
// written.
func (c column) items() []string {
	var items []string
	switch c.param.Kind() {
	case cmbo.KindCategorical:
		for _, s := range c.choices {
			items = append(items, asText(s))
		}
	case cmbo.KindOrdinal:
		for _, v := range c.param.Values() {
			items = append(items, asText(c.text(v)))
		}
	case cmbo.KindBool:
		items = []string{asText("false"), asText("true")}
	}
	return items
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
