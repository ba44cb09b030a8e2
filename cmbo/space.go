package cmbo

import "github.com/gocmbo/cmbo/cmbo/space"

// A Space is the set of points an optimiser may propose: named parameters, or an explicit list of
// candidate rows, or a list of candidates described by named parameters. A point is a row of
// float64 with one entry a parameter. Package space has its methods.
type Space = space.Space

// A Param is one named dimension of a [Space]. Make one with [Float], [LogFloat],
// [Int], [LogInt], [Ordinal], [Categorical] or [Bool]. Package space has its methods.
type Param = space.Param

// A Task is the history of one tuning run, a source of a [Prior]: points of the space
// and the values measured there. [Optimizer.Task] makes one of a run.
type Task = space.Task

// A Curve is what an evaluation of a [Task] showed before its end.
type Curve = space.Curve

// Changes says how a space differs from those that tasks were recorded with.
type Changes = space.Changes

// An Adoption says what [Prior.Adopt] or [space.Space.Adopt] did.
type Adoption = space.Adoption

// A DataError says where in the caller's data a problem lies.
type DataError = space.DataError

// Kind is the type of a parameter.
type Kind = space.Kind

// The kinds of parameters.
const (
	KindFloat       = space.KindFloat
	KindLogFloat    = space.KindLogFloat
	KindInt         = space.KindInt
	KindLogInt      = space.KindLogInt
	KindCategorical = space.KindCategorical
	KindBool        = space.KindBool
	KindOrdinal     = space.KindOrdinal
)

// NewSpace returns the space of all values of the given parameters: see [space.New].
func NewSpace(params ...Param) (*Space, error) { return space.New(params...) }

// SpaceOf returns the space that the tags of a struct's fields describe: see [space.Of].
func SpaceOf(cfg any) (*Space, error) { return space.Of(cfg) }

// UnitCube returns the space of dim anonymous coordinates in [0, 1].
func UnitCube(dim int) (*Space, error) { return space.UnitCube(dim) }

// Candidates returns a finite space: exactly the given rows, whose coordinates lie in [0, 1]: see [space.Candidates].
func Candidates(rows [][]float64) (*Space, error) { return space.Candidates(rows) }

// Float is a real parameter in [lo, hi], lo < hi; [space.Param.WithStep] gives it a step.
func Float(name string, lo, hi float64) Param { return space.Float(name, lo, hi) }

// LogFloat is a real parameter in [lo, hi], 0 < lo < hi, on a logarithmic scale: a learning rate, a regularisation strength.
func LogFloat(name string, lo, hi float64) Param { return space.LogFloat(name, lo, hi) }

// Int is an integer parameter in lo..hi, lo <= hi, both within ±2^53.
func Int(name string, lo, hi int) Param { return space.Int(name, lo, hi) }

// LogInt is an integer parameter in lo..hi, 1 <= lo <= hi, on a logarithmic scale: a batch size, a number of trees.
func LogInt(name string, lo, hi int) Param { return space.LogInt(name, lo, hi) }

// Ordinal is a choice among at least one number, given in increasing order, whose
// neighbours are equally far apart: a layer of 16, 32 or 64 units.
func Ordinal(name string, values ...float64) Param { return space.Ordinal(name, values...) }

// Categorical is a choice among at least one distinct names without order.
func Categorical(name string, choices ...string) Param { return space.Categorical(name, choices...) }

// Bool is a switch.
func Bool(name string) Param { return space.Bool(name) }
