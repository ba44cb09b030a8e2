// Package bench measures tuning methods on recorded tuning tasks.
//
// # From a table to an experiment
//
// A [Table] holds tasks over one search space in HPO-B's format ([OpenTable]). An
// [Experiment] divides them into sources to learn from and targets to tune, and drives what
// many methods make of the sources, anything with Ask and Tell, over the targets:
//
//	p, err := bench.FindProtocol("paper")
//	e := &bench.Experiment{Protocol: p}
//	outcome, err := e.Run(ctx, tables, "folder")
//	records, err := bench.ReadRecords("folder")
//
// The [Protocol] says which runs there are, [Methods] which methods it may name; a
// Catalogue of one's own adds others. Package report analyses the records.
//
// # What is compared
//
// The yardstick is the normalised simple regret: how far the best value found is below the best of the target's whole table,
// in units of the table's range. Methods only ever see values they asked for; the range enters the yardstick alone.
//
// All methods see the same splits, the same observations of the sources and the same initial rows, and propose rows of the
// target's table, each once. A run has one seed whatever the method. Predictions are scored too, for they explain who wins.
//
// # The folder of an experiment
//
//	experiment.json    what was asked for, and of which tables
//	runs.jsonl         a Record a line, which names the program that made it
//	failures.jsonl     a Failure a line, if there are any
//
// A line is written as soon as its run is done, so a process that is killed loses no more than the runs under way, and
// the same call goes on where it stopped. At the end lines are put in order. They then have the same bytes whatever the
// number of workers and of interruptions, with one build of the program (see package cmbo). Runs are made repeat by
// repeat, each for all methods, splits and targets, so that methods are comparable whenever one stops.
package bench
