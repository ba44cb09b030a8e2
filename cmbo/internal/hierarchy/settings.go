package hierarchy

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Settings are all that the method's author chose: what learning and runs go by. Those said to be chosen on tables had
// the least regret on divisions of public tables other than those that documents report: examples/hpob -seed 2 and 3.
// Its results/constants.md has most of them at half and at twice, which does no better.
type Settings struct {
	// Of the call.
	Seed    uint64
	Workers int // goroutines, at most; 0 for all cores
	// Coordinates are those of the points.
	Coordinates []gp.Coordinate

	// The base process.
	Kernels       []kernel.Kernel // templates, the likeliest of which serves: Matérn-3/2, as rough as loss surfaces are, and, without a list, -5/2
	BaseTasks     int             // fitted to, at most: more of them move its parameters little
	BaseRows      int             // of each task, at most: 512 of 1,000 move the logarithms of lengths by a tenth
	LengthSD      float64         // of a length's logarithm around the template's: of few tasks they say little of another's; chosen on tables
	VarianceRange [2]float64      // bounds, in scaled units: around the tasks' variance of 1
	LengthRange   [2]float64      // bounds, in units of the cube: a step of a fine grid, and as good as constant
	NoiseRange    [2]float64      // bounds of the noise variance: some digits, and nothing but noise
	MaxMean       float64         // bound of the constant mean: a deviation of scaled values
	// Where all tasks have fewer values than FewValues, or a quarter of it a coordinate and together fewer than it a
	// coordinate, 0 for never, noise has a variance of at most FewValuesNoise: too few to tell it (TestBaseOfFewValues).
	FewValues      int
	FewValuesNoise float64

	// The population.
	GroupTasks int     // tasks from which the moments are learned, at most: the cost of Learn
	Steps      int     // of EM: chosen on tables
	Shrink     float64 // of the covariance towards the base kernel, a share: chosen on tables
	Passes     int     // steps of EM over all tasks, where a sample of them is held
	// Neighbours is the number of grid points whose covariances carry a point off the grid: regret is
	// about that of all of them, which cost an Ask several times as much.
	Neighbours int
	// PriorTasks is the number of tasks that a mean which all share counts for beside EM, 0 for none:
	// 4 to 40 do as well on tables, intervals hold more from 12 on.
	PriorTasks float64
	Shares     []float64 // of the base variance that may be common to all tasks: next to nothing to nearly all

	// Offset and scale: see affinePrior.
	TransferTail   float64 // share of offsets of a wider spread, of hypotheses that transfer: chosen on tables
	NoTransferTail float64 // of no transfer, large being large: a target outside all experience
	// Wide is how many times more widely such offsets spread, and scales in other units, at least: units are decades
	// apart, as minutes and seconds about are, and shares and percents. A scale that far away counts as one.
	Wide       float64
	Widest     float64 // likewise, of offsets in other units, at least; values that lie farther away show how far
	OtherUnits float64 // share of these, of every hypothesis: they do not say that the past misleads
	// FirstTransfers: a second point is chosen by what transfers, where the first value is in another unit than the tasks'.
	FirstTransfers bool

	// The mixture.
	NoTransferMass float64 // prior, chosen on tables; the population has the rest
	AloneMass      float64 // beside these, of what a run without a past takes the target for: see OwnFrom; 0.05 and 0.2 do as well
	// OwnNoise is the noise variance that the hypothesis of no transfer may have where a third of the past's variance or more
	// is noise, 0 for never.
	OwnNoise float64
	Louder   []float64 // times the past's noise variance, within NoiseRange: as likely as that where points are measured again

	// Besides are variances of the process specific to the target beside what transfers, in the
	// tasks': a trace, and a third of all.
	Besides        []float64
	SpecificKernel kernel.Kernel // its shape, of variance 1: lengths likely of any function
	// From OwnFrom values on a run has lengths and noise of its own, without a list of candidates and with one, where sooner
	// brings nothing; with one, where it has more than Outgrow times the values of all past tasks before, or where these
	// look like noise, 0 for never, from there on, by another fit: see Run.fitOwn. Chosen on families and tables, see
	// EVIDENCE.md.
	Outgrow   float64
	OwnFrom   [2]int
	OwnSD     [2]float64 // of the logarithms of these lengths around those before, as in gaussian.DefaultPriors, and of that noise, as in gp.Fits
	OwnSmooth float64    // prior odds that it is Matérn-5/2 then, without a list; 0 for never: chosen on families, see EVIDENCE.md
	Moved     float64    // share of the population's mass on what descriptors make of it, where they say anything
	Reversed  float64    // mass of large being small: chosen on tables
	// ReversedTail is the share of offsets of a wider spread then, at least; the others but those in other
	// units are the tasks' times −1: see affinePrior.reversed.
	ReversedTail float64
	MinMass      float64 // below which a hypothesis is not predicted with: nothing a plot would show
	MaxParts     int     // of a hypothesis's scales of one sign in expected improvement

	// Values.
	Logs     float64 // log-likelihood a value by which the past's logarithms have to be likelier to be seen, 0 for never: see EVIDENCE.md
	Compress bool    // differences between low values of past tasks, and of a run: see scaling.CompressLow
	Apart    bool    // without a list, the width of a run that has converged is that of values apart: see scaling.CompressLow
	OwnUnit  float64 // see Model.lowOf: with 1, intervals hold fewer rows that a run does not ask for (TestPredictCoverage)
	Rescale  bool    // without a list, low ones of a run are seen in the scale that it seems to have: see Run.tell
	Relative bool    // without a list, an improvement counts in the scale that it is expected under: see Run.LogImprovement
	LowEnds  bool    // intervals are as low as values that were raised: see Run.Ends
	Ranks    bool    // they are scores by rank, which further values change
	Exact    bool    // the target is in the tasks' scaled units: its offset is 0 and its scale 1, and no noise comes with a value
	Whole    bool    // values far below the others are taken as they are: see scaling.RaiseLow
	List     bool    // candidates are a list
	Output   bool    // values are held against limits, so that what descriptors say of their level counts

	// Who proposes: see package cmbo.
	Hedge Hedge

	// Labels of success: see success.go.
	SuccessNoise      float64 // of labels of which no past is known: some failures have no cause in the space
	SuccessNoTransfer float64 // mass: with that of values the past is followed less (TestSuccessFollowsPastAndRun)
	// How their probability counts: see successRequirement of package cmbo, and EVIDENCE.md.
	SuccessPower, MayFail, SuccessGrowth float64
}

// A Hedge says when another judge than the mixture chooses a point: while evaluations do not improve on the best value.
type Hedge struct {
	// Trust is the mass of the hypotheses that transfer, right way up or else upside down, from
	// which on the past counts as trusted.
	Trust float64
	// Trusted, Doubted and Alone, without a past or where a run outgrew it, are the number of proposals in vain after
	// which another judge chooses, and every how many from then on; 0 for never. Most runs that do not improve any more
	// have found the best there is: of the area under the regret curve every second question costs a tenth to a
	// quarter, every fifth some 7 %, so that a past that is trusted pays for every tenth. One that the values
	// contradict is worth no more than every second.
	Trusted, Doubted, Alone [2]int
	// Failing is likewise of failures beside a past while no value is known, of which masses say nothing. After two the
	// past's next best region has not been asked, and after four that next to it, of a choice of four (TestBestElsewhere).
	// Nothing of a past that tells of no failure says where evaluations succeed: TestLeavesAFailingRegion fails without, and
	// from then on each point is chosen so, as all are without a past (TestFirstSuccess).
	Failing [2]int
	// Beyond is likewise of the values of an output of which none holds its limits: they may say nothing of where others hold
	// them, as error codes do. Every point, not every second, finds theirs sooner and others' later: see EVIDENCE.md.
	Beyond [2]int
	// Ties is the number of values equal to the best, beside it, from which on the past counts as
	// doubted, 0 for never: where values have levels its best region may lie on a lesser one, which
	// each value there confirms. Three cost 2 % of the area on tst-svm, five nothing: see EVIDENCE.md.
	Ties int
	// WithoutPast has the model without the past choose every other of these points while the past is trusted.
	WithoutPast bool
	// Drawn has a point by distance drawn without a list, by the squared distance from all points asked for, and not the
	// farthest; on the lists of the choosing tables the one is as good as the other.
	Drawn bool
}

// DefaultSettings returns the defaults in dim coordinates.
func DefaultSettings(dim int) Settings {
	return Settings{
		Seed: 1, Coordinates: gp.Numbers(dim),
		Kernels: []kernel.Kernel{defaultKernel(dim), reshaped(defaultKernel(dim), kernel.Matern52)}, BaseTasks: 200, BaseRows: 512, LengthSD: 0.5,
		VarianceRange: [2]float64{0.05, 20}, LengthRange: [2]float64{0.02, 30}, NoiseRange: [2]float64{leastNoise, 1}, MaxMean: 1,
		FewValues: 8, FewValuesNoise: 0.1,
		Neighbours: 32, GroupTasks: 1000, Steps: 16, Shrink: 0.1, Passes: 4,
		PriorTasks: 12, Shares: []float64{0.02, 0.2, 0.5, 0.7, 0.85, 0.95},
		TransferTail: 0.2, NoTransferTail: 0.72, Wide: 10, Widest: 1e6, OtherUnits: 0.08, FirstTransfers: true,
		NoTransferMass: 0.2, AloneMass: 0.1, OwnNoise: 0.001, Louder: []float64{10, 100, 1000}, Besides: []float64{0.05, 0.5}, SpecificKernel: defaultKernel(dim), Outgrow: 1, OwnFrom: [2]int{leastOwn, 15}, OwnSD: [2]float64{1, 3}, OwnSmooth: 1, Moved: 0.5, Reversed: 0.15, ReversedTail: 0.5,
		MinMass: 1e-3, MaxParts: 5,
		Logs: 0.6, Compress: true, Apart: true, OwnUnit: 3, Rescale: true, Relative: true, LowEnds: true, Hedge: Hedge{Trust: 0.8, Trusted: [2]int{4, 10}, Doubted: [2]int{1, 2}, Alone: [2]int{4, 5}, Failing: [2]int{5, 1}, Beyond: [2]int{10, 2}, Ties: 5, WithoutPast: true, Drawn: true},
		SuccessNoise: 0.1, SuccessNoTransfer: 0.02, SuccessPower: 2, MayFail: 0.2, SuccessGrowth: 1.5,
	}
}

// defaultKernel returns a scaled Matérn-3/2 with a length for each of dim coordinates, half the diagonal of their cube.
func defaultKernel(dim int) kernel.Kernel {
	return kernel.Scale(1, kernel.Matern32(slices.Repeat([]float64{0.5 * math.Sqrt(float64(dim))}, dim)...))
}

// ApartOf returns the values apart of a task with points x, nil where its width is that of all: see [points.Apart].
func (s *Settings) ApartOf(x *linalg.Dense, y []float64) []float64 {
	if !s.Apart {
		return nil
	}
	return points.Apart(x, y)
}
