package cmbo

import (
	"fmt"

	"github.com/gocmbo/cmbo/cmbo/space"
)

// A Trial is a point an [Optimizer] proposes for evaluation. It is plain data: the caller may keep or change it.
type Trial struct {
	// ID identifies the trial in Tell, Report, Explain and their like: 1, 2, ... in the order of asking.
	ID int
	// Index is the row in the list of candidates, -1 in a parameter space.
	Index int
	// X is the point, as [Space] describes rows.
	X []float64
	// Resumes is the ID of the trial that was stopped and whose evaluation this one goes on with, 0 for none: see
	// [WithCheckpoints].
	Resumes int
	// Status is what had become of the trial when the Optimizer returned it.
	Status Status

	space *Space
}

// Status says what has become of a trial.
type Status string

// The states of a trial.
const (
	StatusOpen      Status = "open"      // it waits for an answer
	StatusTold      Status = "told"      // an [Observation] has its value
	StatusFailed    Status = "failed"    // its evaluation failed, or reported a value that is no number
	StatusCancelled Status = "cancelled" // it was taken back
	StatusStopped   Status = "stopped"   // before its end
)

// Float returns the value of a float, integer or ordinal parameter. Float, Int, Choice and Bool panic if the space has no
// parameter of their kind and that name, or no Optimizer made the trial; [Trial.Config] and [Trial.Into] do not.
func (t Trial) Float(name string) float64 { return t.point().Float(name) }

// Int returns the value of an integer parameter or of an ordinal of whole numbers. It panics as [Trial.Float] does.
func (t Trial) Int(name string) int { return t.point().Int(name) }

// Choice returns the chosen name of a categorical parameter. It panics as [Trial.Float] does.
func (t Trial) Choice(name string) string { return t.point().Choice(name) }

// Bool returns the value of a boolean parameter. It panics as [Trial.Float] does.
func (t Trial) Bool(name string) bool { return t.point().Bool(name) }

// Config returns the values by name, as [space.Space.Config] does; nil if the trial was not made by an Optimizer.
func (t Trial) Config() map[string]any { return t.point().Config() }

// Into sets the fields of a struct to the values of the parameters that their tags name, as [SpaceOf] describes:
//
//	var cfg struct {
//		LR    float64 `cmbo:"lr"`
//		Depth int     `cmbo:"depth"`
//	}
//	err := trial.Into(&cfg)
//
// It fails with [ErrSpace] if cfg is no pointer to a struct, if a tag names no parameter, a parameter has no field or
// one of another type, or if the trial was not made by an Optimizer; cfg is unchanged then.
func (t Trial) Into(cfg any) error { return t.point().Into(cfg) }

func (t Trial) point() space.Point { return space.Point{Space: t.space, X: t.X} }

// An Observation is a point and the value measured there.
type Observation struct {
	X []float64 // the point, as [Space] describes rows
	Y float64   // in the user's units
	// NoiseVariance is the variance of the measurement's error in squared units of Y, 0 if it was not given.
	NoiseVariance float64
	// Outputs are what was told beside Y, nil for nothing. The cost of an evaluation that was resumed is that of all its
	// trials.
	Outputs Outputs
	// Trial is the ID of the trial that was told, 0 for an observation the optimiser did not propose.
	Trial int

	space      *Space
	violations []Violation
}

// Float returns the value of a parameter as [Trial.Float] does.
func (o Observation) Float(name string) float64 { return o.point().Float(name) }

// Int returns the value of a parameter as [Trial.Int] does.
func (o Observation) Int(name string) int { return o.point().Int(name) }

// Choice returns the value of a parameter as [Trial.Choice] does.
func (o Observation) Choice(name string) string { return o.point().Choice(name) }

// Bool returns the value of a parameter as [Trial.Bool] does.
func (o Observation) Bool(name string) bool { return o.point().Bool(name) }

// String says the value and the point, such as "0.93 at lr=0.01 depth=4 kernel=rbf".
func (o Observation) String() string { return fmt.Sprintf("%v at%s", o.Y, o.point()) }

// Config returns the values by name as [Trial.Config] does.
func (o Observation) Config() map[string]any { return o.point().Config() }

// Into sets the fields of a struct as [Trial.Into] does.
func (o Observation) Into(cfg any) error { return o.point().Into(cfg) }

func (o Observation) point() space.Point { return space.Point{Space: o.space, X: o.X} }

// String lists the trial's ID and its values by name, such as "trial 3: lr=0.01 depth=4 kernel=rbf".
func (t Trial) String() string {
	return fmt.Sprintf("trial %d:%s", t.ID, t.point())
}
