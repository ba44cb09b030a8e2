// Package api has the JSON that the service and its clients exchange.
package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/gocmbo/cmbo/cmbo"
)

// KeyHeader is the HTTP header with a request's key. A request that changes a
// study and is sent again with the same key is done once, and answered each time.
const KeyHeader = "Idempotency-Key"

// A Row is a point of a space as a list of numbers. Unlike a plain slice it does
// not take null for 0.
type Row []float64

// ErrRow: one of several numbers is null.
var ErrRow = errors.New("null where a number belongs")

// Values are numbers by name. Unlike a plain map it does not take null for 0.
type Values map[string]float64

// UnmarshalJSON reads an object of numbers. It fails with [ErrRow] at a null or as
// encoding/json does.
func (v *Values) UnmarshalJSON(b []byte) error {
	var m map[string]*float64
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*v = make(Values, len(m))
	for name, p := range m {
		if p == nil {
			return fmt.Errorf("%w: %q", ErrRow, name)
		}
		(*v)[name] = *p
	}
	return nil
}

// UnmarshalJSON reads a list of numbers; null makes a nil Row. It fails with
// [ErrRow] or as encoding/json does.
func (r *Row) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '[' {
		return json.Unmarshal(b, (*[]float64)(r))
	}
	var row Row
	for rest := bytes.TrimSpace(b[1 : len(b)-1]); len(rest) > 0; {
		entry, more, _ := bytes.Cut(rest, []byte{','})
		if entry = bytes.TrimSpace(entry); string(entry) == "null" {
			return fmt.Errorf("%w: entry %d", ErrRow, len(row))
		}
		v, err := strconv.ParseFloat(string(entry), 64)
		if err != nil {
			return json.Unmarshal(b, new([]float64)) // which says what is no number, or too large a one
		}
		if row == nil { // Exactly as long as it must be: bodies may be large.
			row = make(Row, 0, 1+bytes.Count(b, []byte{','}))
		}
		row, rest = append(row, v), more
	}
	if row == nil {
		row = Row{}
	}
	*r = row
	return nil
}

// A NewStudy is the body of a request to create a study. At most one of Prior
// and Learn may be given; with neither, the study has no prior.
type NewStudy struct {
	ID    string      `json:"id"`
	Space *cmbo.Space `json:"space"`
	// Prior is the name or the digest of a prior the service has.
	Prior string `json:"prior,omitempty"`
	// Learn makes a prior for the study, over the study's parameters.
	Learn   *Learn  `json:"learn,omitempty"`
	Options Options `json:"options"`
	// Optimum is the best value possible, if it is known: the study's page then
	// shows the regret.
	Optimum *float64 `json:"optimum,omitempty"`
	// Objective names what is optimised, and Unit is that of its values, for
	// people who look at the study's page.
	Objective string `json:"objective,omitempty"`
	Unit      string `json:"unit,omitempty"`
}

// Options of a study; what is not given has the library's default.
type Options struct {
	Seed          *uint64  `json:"seed,omitempty"`
	Minimize      bool     `json:"minimize,omitempty"`
	Positive      bool     `json:"positive_values,omitempty"` // models see logarithms: see cmbo.WithPositiveValues
	Acquisition   string   `json:"acquisition,omitempty"`     // EI, which is the default, UCB(beta), PI, MaxValuePI or, without a prior, Thompson
	YPolicy       string   `json:"y_policy,omitempty"`
	Initial       *int     `json:"initial,omitempty"`
	Checkpoints   bool     `json:"checkpoints,omitempty"` // trials that were stopped can go on: see cmbo.WithCheckpoints
	NoiseVariance *float64 `json:"noise_variance,omitempty"`
	Sobol         *int     `json:"sobol_candidates,omitempty"`
	Local         *int     `json:"local_candidates,omitempty"`
	// Outputs are what evaluations bring beside the value, told with it; Budget is what
	// the study may spend, of the output that is the cost or in evaluations.
	Outputs []Output `json:"outputs,omitempty"`
	Budget  *float64 `json:"budget,omitempty"`
	// Context describes the study's task as those of the prior's tasks do: numbers and choices
	// by name. Priors that are learned from the study take it.
	Context Context `json:"context,omitempty"`
}

// An Output is a value that evaluations bring beside the objective; with a limit it is a
// constraint. See cmbo.WithOutput.
type Output struct {
	Name    string   `json:"name"`
	AtMost  *float64 `json:"at_most,omitempty"`
	AtLeast *float64 `json:"at_least,omitempty"`
	// Optional says that evaluations may lack it.
	Optional bool `json:"optional,omitempty"`
	// Cost says that it is what an evaluation costs: see cmbo.AsCost.
	Cost bool `json:"cost,omitempty"`
}

// Learn says what to learn a prior from: past tasks, files of past tasks, or what
// studies of the service have observed, or all of them.
type Learn struct {
	Tasks    []Task   `json:"tasks,omitempty"`
	Files    []File   `json:"files,omitempty"`
	Studies  []string `json:"studies,omitempty"`
	Seed     *uint64  `json:"seed,omitempty"`
	Minimize bool     `json:"minimize,omitempty"`
	// Positive says that all values are above 0: see cmbo.WithPositiveValues. Studies with the
	// prior take it over.
	Positive    bool   `json:"positive_values,omitempty"`
	YPolicy     string `json:"y_policy,omitempty"`
	IndexPoints *int   `json:"index_points,omitempty"`
}

// A Task is the history of a past tuning run; see cmbo.Task.
type Task struct {
	ID            string `json:"id"`
	X             []Row  `json:"x"`
	Y             Row    `json:"y"`
	NoiseVariance Row    `json:"noise_variance,omitempty"`
	// Failed are the points whose evaluation failed and gave no value.
	Failed []Row `json:"failed,omitempty"`
	// Params are the parameters that the rows were recorded with, in the order of
	// their entries, if those are not the space's own.
	Params []cmbo.Param `json:"params,omitempty"`
	// Outputs are the values of further outputs, by name, one for each y, null where it was
	// not measured.
	Outputs map[string][]*float64 `json:"outputs,omitempty"`
	// FailedOutputs are those of the evaluations that failed, one for each of failed.
	FailedOutputs map[string][]*float64 `json:"failed_outputs,omitempty"`
	// Context describes the task: numbers and choices by name.
	Context Context `json:"context,omitempty"`
	// Curves are what the evaluations showed before their ends, one for each y, without a step
	// for one that showed nothing.
	Curves []Curve `json:"curves,omitempty"`
}

// A Context describes a task: numbers and choices by name; null is not known.
type Context map[string]any

// Context returns the library's form.
func (c Context) Context() cmbo.Context {
	var out cmbo.Context
	for name, v := range c {
		if out == nil {
			out = make(cmbo.Context)
		}
		if n, ok := v.(json.Number); ok {
			v, _ = n.Float64() // infinite if it is too large, which is refused
		}
		out[name] = v
	}
	return out
}

// A Curve is what an evaluation showed before its end, in the unit of y: values at steps in
// rising order, such as epochs, which mean the same in all trials and past tasks.
type Curve struct {
	Steps  []int `json:"steps"`
	Values Row   `json:"values"`
	// Stopped says that the end was not waited for. The y of a past task is an estimate then,
	// whose variance is its noise_variance.
	Stopped bool `json:"stopped,omitempty"`
}

// Task returns the library's form.
func (t *Task) Task() cmbo.Task {
	out := cmbo.Task{ID: t.ID, X: rows(t.X), Y: t.Y, NoiseVariance: t.NoiseVariance, Failed: rows(t.Failed),
		Params: t.Params, Context: t.Context.Context()}
	for _, c := range t.Curves {
		out.Curves = append(out.Curves, cmbo.Curve{Steps: c.Steps, Values: c.Values, Stopped: c.Stopped})
	}
	out.Outputs, out.FailedOutputs = columns(t.Outputs), columns(t.FailedOutputs)
	return out
}

// columns returns the library's form, nil for none.
func columns(of map[string][]*float64) (out map[string][]float64) {
	for name, values := range of {
		if out == nil {
			out = make(map[string][]float64)
		}
		column := make([]float64, len(values))
		for i, v := range values {
			column[i] = math.NaN()
			if v != nil {
				column[i] = *v
			}
		}
		out[name] = column
	}
	return out
}

func rows(rs []Row) [][]float64 {
	if rs == nil {
		return nil
	}
	out := make([][]float64, len(rs))
	for i, row := range rs {
		out[i] = row
	}
	return out
}

// Formats of a [File].
const (
	FormatCSV         = "csv"          // a row an evaluation, a column a parameter
	FormatJSONLines   = "jsonlines"    // one JSON object a line
	FormatMLflow      = "mlflow"       // mlflow.search_runs(...).to_csv()
	FormatOptuna      = "optuna"       // the journal of Optuna's JournalStorage
	FormatOptunaFrame = "optuna_frame" // study.trials_dataframe().to_csv()
	FormatKatib       = "katib"        // kubectl get trials.kubeflow.org --output json
	FormatWandB       = "wandb"        // the exported table of runs of Weights & Biases
)

// A File is a file of past evaluations as another program wrote it; package
// cmbo/history reads it.
type File struct {
	Format string `json:"format"`
	// Text is the content.
	Text string `json:"text"`
	// Task is the ID of the task of a file that holds one and does not name it.
	Task string `json:"task,omitempty"`
	// Value names the column or key of the measured value, "value" by default; of MLflow
	// and W&B the metric, which must be given; of Katib that of the experiments, if they
	// have several.
	Value string `json:"value,omitempty"`
	// TaskColumn and NoiseColumn name those of the task's ID and of the variance of
	// the value's error.
	TaskColumn  string `json:"task_column,omitempty"`
	NoiseColumn string `json:"noise_column,omitempty"`
	// Columns names, by parameter, the columns that are not called like it, and
	// Defaults gives, by parameter, the value of empty cells and missing columns.
	Columns  map[string]string `json:"columns,omitempty"`
	Defaults map[string]any    `json:"defaults,omitempty"`
	// Outputs names, by output, the columns or keys of further values, empty where they are
	// called like it; of Katib its names are metrics. One that no row has is an error.
	// An Optuna journal has none.
	Outputs map[string]string `json:"outputs,omitempty"`
	// Context names, by descriptor of a task, the columns or keys that hold it, empty where they
	// are called like it. Katib's trials and an Optuna journal have none.
	Context map[string]string `json:"context,omitempty"`
	// Seconds names an output for the time that a trial of an Optuna journal or of Katib took.
	Seconds string `json:"seconds,omitempty"`
	// Curve names the key of the curves of JSON lines, and Intermediate takes those that complete
	// trials of an Optuna journal reported; without, past tasks of a file have none.
	Curve        string `json:"curve,omitempty"`
	Intermediate bool   `json:"intermediate,omitempty"`
	// Separator is between the fields of a CSV file, a comma by default;
	// DecimalComma reads 0,5 as a half.
	Separator    string `json:"separator,omitempty"`
	DecimalComma bool   `json:"decimal_comma,omitempty"`
	// Studies names the studies of an Optuna journal that are taken, all by default;
	// Pruned takes pruned trials, too, with the last value they reported.
	Studies []string `json:"studies,omitempty"`
	Pruned  bool     `json:"pruned,omitempty"`
	// Skip leaves bad rows out and reports them; else the first is an error.
	Skip bool `json:"skip,omitempty"`
}

// A FileReport says what became of the rows of a [File].
type FileReport struct {
	Format     string   `json:"format"`
	Tasks      int      `json:"tasks"`
	Rows       int      `json:"rows"`                  // Accepted and Skipped together
	Accepted   int      `json:"accepted"`              // rows that were taken
	Failed     int      `json:"failed,omitempty"`      // of those accepted: failed evaluations
	Snapped    int      `json:"snapped,omitempty"`     // of those accepted: rows that lay between steps
	Skipped    int      `json:"skipped,omitempty"`     // bad rows that were left out
	PassedOver int      `json:"passed_over,omitempty"` // further rows that were not wanted, such as running ones
	Errors     []string `json:"problems,omitempty"`    // the first bad rows
}

// A NewPrior is the body of a request to learn a prior. Without Space, that of
// the studies is taken, or what a single Optuna journal tells.
type NewPrior struct {
	Name  string      `json:"name,omitempty"`
	Space *cmbo.Space `json:"space,omitempty"`
	Learn
}

// A Prior describes a prior.
type Prior struct {
	Digest string   `json:"digest"`
	Names  []string `json:"names,omitempty"`
	Bytes  int      `json:"bytes"`
	// The rest is told of a single prior, not in lists.
	Minimize bool     `json:"minimize,omitempty"`
	Positive bool     `json:"positive_values,omitempty"`
	Tasks    int      `json:"tasks,omitempty"`
	Outputs  []string `json:"outputs,omitempty"` // that its tasks have
	// Space holds the parameters it was learned over.
	Space *cmbo.Space `json:"space,omitempty"`
	// Files says what became of the files it was learned from, in the reply to the
	// request that learned it.
	Files []FileReport `json:"files,omitempty"`
}

// An Adopt is the body of a request that brings a prior to a space whose parameters
// have changed; see cmbo.Prior.Adopt.
type Adopt struct {
	// Name is the new prior's; it may be left out.
	Name  string      `json:"name,omitempty"`
	Space *cmbo.Space `json:"space"`
	// Changes are defaults, the values of parameters that the prior's tasks do not
	// have, by name; renamed, what parameters are called now; and choices, by parameter,
	// what values are called now.
	cmbo.Changes
}

// Adopted answers Adopt.
type Adopted struct {
	Prior    Prior    `json:"prior"`
	Adoption Adoption `json:"adoption"`
}

// An Adoption says what became of the rows of a prior's tasks; see cmbo.Adoption.
type Adoption struct {
	Text    string   `json:"text"`
	Rows    int      `json:"rows"`              // that were taken over
	Snapped int      `json:"snapped,omitempty"` // of those, rows that lay between steps
	Filled  []string `json:"filled,omitempty"`  // parameters that took their default
	Dropped []string `json:"dropped,omitempty"` // parameters that the space does not have
	// Outside counts the rows that have no place in the space, and Problems tells the
	// first of them.
	Outside  int      `json:"outside,omitempty"`
	Problems []string `json:"problems,omitempty"`
}

// Check is the body of a request to say whether transfer helps on past tasks; see
// cmbo.Check. The past is given as to learn a prior.
type Check struct {
	Space *cmbo.Space `json:"space,omitempty"`
	Learn
	// LeaveOut bounds the tasks that are left out, 10 by default, and Evaluations those
	// of each run, 30 by default.
	LeaveOut    *int `json:"leave_out,omitempty"`
	Evaluations *int `json:"evaluations,omitempty"`
}

// A CheckReport says whether what was learned from some tasks helps the others; see
// cmbo.CheckReport.
type CheckReport struct {
	// Verdict is as in [Transfer], and Text says why.
	Verdict string        `json:"verdict"`
	Text    string        `json:"text"`
	Tasks   []CheckedTask `json:"tasks"`
	// Difference is the mean over the tasks of the regret without the past minus that
	// with it, and StandardError that of the mean, which counts that tasks are in each
	// other's pasts; null for a single task.
	Difference    *float64 `json:"difference"`
	StandardError *float64 `json:"standard_error"`
	// Reversed are tasks that those left out contradict in the mean.
	Reversed []string `json:"reversed,omitempty"`
	// Files says what became of the files sent.
	Files []FileReport `json:"files,omitempty"`
}

// A CheckedTask is a task that was left out and then tuned on its own records, with
// what was learned of the others and without.
type CheckedTask struct {
	ID       string   `json:"id"`
	With     Replay   `json:"with"`
	Without  Replay   `json:"without"`
	Transfer Transfer `json:"transfer"` // what the run with it found out
}

// A Replay sums up runs on the records of a task; see cmbo.Replay.
type Replay struct {
	Regret      float64 `json:"regret"`      // of the best value so far, the mean over the evaluations
	Evaluations float64 `json:"evaluations"` // to a regret of .01
}

// Health says that the service is up.
type Health struct {
	Status string `json:"status"`
}

// Kinds of an [Event] besides the statuses of trials.
const (
	EventAsked    = "asked"
	EventObserved = "observed"
	EventEnqueued = "enqueued"
	EventReported = "reported"
	EventPrior    = "prior" // the study goes on with another one
)

// An Event is something that happened to a study and is on disk.
type Event struct {
	// Number counts the events of the study, from 1.
	Number int `json:"number"`
	// Kind is asked, told, failed, cancelled, observed, enqueued, reported, stopped or prior.
	Kind  string `json:"kind"`
	Trial int    `json:"trial,omitempty"` // none of a point observed or enqueued, or of a prior
	// Y is the value told, observed or reported, and Step the step of one reported.
	Y    *float64 `json:"y,omitempty"`
	Step *int     `json:"step,omitempty"`
	// Prior is the name, or else the digest, of the one that took the place of the study's.
	Prior string `json:"prior,omitempty"`
	// Best is the best value so far, Observations how many there are, and Open how many
	// trials are open.
	Best         *float64 `json:"best"`
	Observations int      `json:"observations"`
	Open         int      `json:"open"`
}

// Priors is a list of priors.
type Priors struct {
	Priors []Prior `json:"priors"`
}

// States of a study.
const (
	StateOK      = "ok"
	StateDamaged = "damaged" // its log or its prior cannot be read: see Reason
	// StateOtherVersion: another version of the service made it, and this one cannot go on with it.
	StateOtherVersion = "other_version"
)

// Lasting reports whether the code of an error is that of a state, which does not pass by itself.
func Lasting(code string) bool { return code == StateDamaged || code == StateOtherVersion }

// A Study describes a study.
type Study struct {
	ID           string   `json:"id"`
	State        string   `json:"state"`
	Reason       string   `json:"reason,omitempty"`
	Prior        string   `json:"prior,omitempty"`      // digest of the prior it runs with
	PriorName    string   `json:"prior_name,omitempty"` // that it was given by
	Minimize     bool     `json:"minimize,omitempty"`
	Optimum      *float64 `json:"optimum,omitempty"`
	Trials       Counts   `json:"trials"`
	Observations int      `json:"observations"`
	Enqueued     int      `json:"enqueued,omitempty"` // points that are proposed next
	Objective    string   `json:"objective,omitempty"`
	Unit         string   `json:"unit,omitempty"`
	Best         *Best    `json:"best"`
	// The rest is told of a single study, not in lists.
	Space   *cmbo.Space `json:"space,omitempty"`
	Options *Options    `json:"options,omitempty"`
}

// A SetPrior is the body of a request that has a study go on with another prior, of the same parameters and direction
// of values: all trials, open ones among them, stay as they are.
type SetPrior struct {
	Prior string `json:"prior"` // name or digest
}

// Counts of trials by status.
type Counts struct {
	Open      int `json:"open"`
	Told      int `json:"told"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	Stopped   int `json:"stopped,omitempty"`
}

// Asked is the number of all trials.
func (c Counts) Asked() int { return c.Open + c.Told + c.Failed + c.Cancelled + c.Stopped }

// Studies is a list of studies.
type Studies struct {
	Studies []Study `json:"studies"`
}

// Best is the best value told or observed, of those that hold the limits of all outputs.
type Best struct {
	X      Row            `json:"x"`
	Config map[string]any `json:"config"`
	Y      float64        `json:"y"`
	Trial  int            `json:"trial,omitempty"` // none if it was observed
	// Outputs are what the evaluation brought beside y.
	Outputs Values `json:"outputs,omitempty"`
}

// A BestReply holds the best value, null before the first that holds the limits.
type BestReply struct {
	Best *Best `json:"best"`
}

// Ask is the body of a request for trials; N is 1 if it is not given.
type Ask struct {
	N *int `json:"n,omitempty"`
	// DeadlineSeconds is how long the trials may take from when they are opened. One
	// that is still open then ends by itself, as OnDeadline says: "cancel", which is the
	// default and gives its point back, or "fail", as if its evaluation had crashed: but "cancel"
	// where a failure must come with what it cost, as nobody says that.
	DeadlineSeconds *float64 `json:"deadline_seconds,omitempty"`
	OnDeadline      string   `json:"on_deadline,omitempty"`
}

// Statuses of a trial.
const (
	Open      = "open"
	Told      = "told"
	Failed    = "failed"
	Cancelled = "cancelled"
	Stopped   = "stopped" // before the end of its evaluation
)

// A Trial is a point proposed and what became of it. Expected is missing of one that was open when the service was
// started again.
type Trial struct {
	ID            int            `json:"id"`
	Status        string         `json:"status"`
	Index         *int           `json:"index,omitempty"` // row of the space's candidates
	X             Row            `json:"x"`
	Config        map[string]any `json:"config"`
	Y             *float64       `json:"y,omitempty"` // if it was told
	NoiseVariance float64        `json:"noise_variance,omitempty"`
	Expected      *Prediction    `json:"expected,omitempty"` // what the model expected of y when it chose the point
	Enqueued      bool           `json:"enqueued,omitempty"` // it was proposed because it was enqueued
	Deadline      string         `json:"deadline,omitempty"` // as in RFC 3339
	Expired       bool           `json:"expired,omitempty"`  // it failed or was cancelled because the deadline passed
	Outputs       Values         `json:"outputs,omitempty"`  // told with y, or with the failure
	Curve         *Curve         `json:"curve,omitempty"`    // what was reported of it
	Resumes       int            `json:"resumes,omitempty"`  // the trial that was stopped and whose evaluation it goes on with
}

// Trials is a list of trials. More says that there are trials after the last.
type Trials struct {
	Trials []Trial `json:"trials"`
	More   bool    `json:"more,omitempty"`
}

// Tell is the body of a request that answers a trial.
type Tell struct {
	Y             *float64 `json:"y"`
	NoiseVariance *float64 `json:"noise_variance,omitempty"`
	// Outputs has each of the study's outputs that is not optional.
	Outputs Values `json:"outputs,omitempty"`
}

// Fail is the body of a request that says that an evaluation failed. Outputs must have what
// it cost, if the study has such an output and it is not optional.
type Fail struct {
	Outputs Values `json:"outputs,omitempty"`
}

// Stop is the body of a request that says that an evaluation was stopped before its end.
// Outputs are empty, or have what it cost up to then, if the study has such an output.
type Stop struct {
	Outputs Values `json:"outputs,omitempty"`
}

// Report is the body of a request that adds a value which an evaluation shows before its
// end to the curve of its trial.
type Report struct {
	Step *int     `json:"step"`
	Y    *float64 `json:"y"`
}

// A Prospect answers Report: what is known of the end of the evaluation, and the advice that
// follows; see cmbo.Prospect. Numbers that are not known are null.
type Prospect struct {
	// Stop says that the evaluation is not worth going on with, and Text why. Diverged says
	// that the value is beyond 1e150, and that the trial has failed.
	Stop     bool   `json:"stop"`
	Diverged bool   `json:"diverged,omitempty"`
	Text     string `json:"text"`
	// Mean and SD are what is expected of the value that the evaluation ends with, and Best
	// is the value to beat.
	Mean *float64 `json:"mean"`
	SD   *float64 `json:"sd"`
	Best *float64 `json:"best"`
	// Chance is the probability that the end is better than Best, and Before what it would
	// be without the curve.
	Chance *float64 `json:"chance"`
	Before *float64 `json:"before"`
	// Curves is the number of completed curves of the study that passed the step, and Known
	// says whether curves, of the study or of past tasks, tell what a value there says of the
	// end.
	Curves int  `json:"curves"`
	Known  bool `json:"known"`
}

// A Point is given as a row, or by the names of the parameters.
type Point struct {
	X      Row            `json:"x,omitempty"`
	Config map[string]any `json:"config,omitempty"`
}

// Row returns the point as a row of the space.
func (p *Point) Row(s *cmbo.Space) ([]float64, error) {
	switch {
	case (p.X == nil) == (p.Config == nil):
		return nil, ErrPoint
	case p.X != nil:
		return p.X, s.Check(p.X)
	}
	return s.Row(p.Config)
}

// ErrPoint: a point has neither or both of its two forms.
var ErrPoint = errors.New("a point needs x, a list of numbers, or config, values by name, and not both")

// Observe is the body of a request that adds a value at a point that was not
// proposed.
type Observe struct {
	Point
	Y             *float64 `json:"y"`
	NoiseVariance *float64 `json:"noise_variance,omitempty"`
	Outputs       Values   `json:"outputs,omitempty"`
}

// Enqueued answers a request to enqueue a [Point]: the number of points that wait.
type Enqueued struct {
	Enqueued int `json:"enqueued"`
}

// Observed answers Observe: the number of observations and values told up to it.
type Observed struct {
	Observations int `json:"observations"`
}

// Predict is the body of a request for predictions.
type Predict struct {
	Points []Point `json:"points"`
}

// Predictions are what the model expects at the points, in their order.
type Predictions struct {
	Predictions []Prediction `json:"predictions"`
}

// A Prediction is what the model expects of the noise-free value: mean and standard
// deviation, null where they are beyond a float64, the median, and the ends of the
// interval that holds 90 %. Of positive values, which the model holds for lognormal, the
// latter say more.
type Prediction struct {
	Mean   *float64 `json:"mean"`
	SD     *float64 `json:"sd"`
	Low    *float64 `json:"low,omitempty"`
	Median *float64 `json:"median,omitempty"`
	High   *float64 `json:"high,omitempty"`
}

// Diagnostics tell how a study chooses.
type Diagnostics struct {
	// Weights are those for the next proposal, which add up to 1: of the
	// prior's hypotheses, which are no transfer and all past tasks as one population.
	Weights Row `json:"weights,omitempty"`
	// History has the weights each trial was chosen with; nothing of trials without.
	History []Weighing `json:"history,omitempty"`
	// LastStep tells of the newest proposal a model made. It is null before the
	// first, and after a restart of the service until the next.
	LastStep *Step `json:"last_step"`
	// Transfer, Calibration and Outlook say whether the past helps, how well values
	// were foretold, and what is left to gain. They are null while the model is busy.
	Transfer    *Transfer    `json:"transfer"`
	Calibration *Calibration `json:"calibration"`
	Outlook     *Outlook     `json:"outlook"`
	// Recommendation is the point to use, null while the model is busy or there is none.
	Recommendation *Recommendation `json:"recommendation"`
	// Importance is what the parameters are worth, in their order; nothing while the model is
	// busy.
	Importance []Importance `json:"importance,omitempty"`
}

// An Importance is how much of what the model says follows from a parameter; see
// cmbo.Importance.
type Importance struct {
	Param string `json:"param"`
	// First is the share of the variance that it explains alone, Total that in which it has a
	// part.
	First float64 `json:"first"`
	Total float64 `json:"total"`
}

// A Recommendation says which of the points evaluated to use, where values are noisy; see
// cmbo.Recommendation.
type Recommendation struct {
	Text   string         `json:"text"`
	X      Row            `json:"x"`
	Config map[string]any `json:"config"`
	Mean   *float64       `json:"mean"`
	SD     *float64       `json:"sd"`
	Values int            `json:"values"` // told of the point
}

// Transfer is what a study has found out of the worth of past tasks; see
// cmbo.Transfer.
type Transfer struct {
	// Verdict is "transfer helps", "the past misleads", "the past is upside down", "unclear",
	// "too early to tell" or "unknown", and Text says why.
	Verdict string  `json:"verdict"`
	Text    string  `json:"text"`
	Values  int     `json:"values"`
	Shares  []Share `json:"shares,omitempty"`
}

// A Share is the mass of one hypothesis, largest first.
type Share struct {
	Level    string   `json:"level"` // "no transfer", "population" or "cluster"
	Tasks    []string `json:"tasks,omitempty"`
	Mass     float64  `json:"mass"`
	Reversed float64  `json:"reversed"`
}

// Calibration says how well values were foretold; see cmbo.Calibration.
type Calibration struct {
	Text     string   `json:"text"`
	Values   int      `json:"values"`
	Coverage *float64 `json:"coverage"`  // of the 90 % interval
	LogScore *float64 `json:"log_score"` // mean
}

// Outlook says what more evaluations may bring, in the units of the values, null
// before the first; see cmbo.Outlook.
type Outlook struct {
	Text   string   `json:"text"`
	Next   *float64 `json:"next"`
	Most   *float64 `json:"most"`
	Gained *float64 `json:"gained"`
	// Feasible is the largest probability that a point holds all limits, Spent what the
	// trials have cost, in evaluations if nothing is the cost, and Left what is left of the
	// budget, null without one.
	Feasible *float64 `json:"feasible"`
	Spent    *float64 `json:"spent"`
	Left     *float64 `json:"left"`
}

// A Weighing is what one trial was chosen with and did to the weights.
type Weighing struct {
	Trial   int `json:"trial"`
	Weights Row `json:"weights"`
}

// A Step is how a proposal came about, in scaled units; see cmbo.Step.
type Step struct {
	Trial         int        `json:"trial"`
	Candidates    int        `json:"candidates"` // how many were scored
	Mean          *float64   `json:"mean"`       // at the point chosen
	SD            *float64   `json:"sd"`
	Score         *float64   `json:"score"`
	Weights       Row        `json:"weights,omitempty"`
	Jitter        *float64   `json:"jitter"`
	Parameters    []*float64 `json:"parameters,omitempty"`
	NoiseVariance *float64   `json:"noise_variance"`
	Shift         *float64   `json:"shift"`
	Scale         *float64   `json:"scale"`
}

// An Error is the body of every answer that is not a success.
type Error struct {
	Error Detail `json:"error"`
}

// A Detail says what is wrong.
type Detail struct {
	// Code is for programs; the README lists the codes.
	Code string `json:"code"`
	// Message is for people.
	Message string `json:"message"`
	Where   *Where `json:"where,omitempty"`
}

// A Where says where the trouble lies, as far as that is known.
type Where struct {
	File   *int     `json:"file,omitempty"`   // number of the uploaded file, from 0
	Line   int      `json:"line,omitempty"`   // of that file, from 1
	Field  string   `json:"field,omitempty"`  // of the body
	Offset int64    `json:"offset,omitempty"` // bytes into the body
	Task   string   `json:"task,omitempty"`
	Row    *int     `json:"row,omitempty"`
	Column *int     `json:"column,omitempty"`
	Name   string   `json:"name,omitempty"` // of a parameter
	Value  *float64 `json:"value,omitempty"`
	Trial  int      `json:"trial,omitempty"`
	Status string   `json:"status,omitempty"` // of the trial
	Limit  int      `json:"limit,omitempty"`
	// Studies are those that run with a prior.
	Studies []string `json:"studies,omitempty"`
}
