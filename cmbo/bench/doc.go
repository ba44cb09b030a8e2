// Package bench measures tuning methods on recorded tuning tasks: it reads
// tables in HPO-B's format ([OpenTable]), divides their tasks into sources to
// learn from and targets to tune ([SplitPlan]), and drives anything with Ask and
// Tell over them ([Run]).
//
// The yardstick is the normalised simple regret: how far the best value found
// is below the best of the target's whole table, in units of the table's range.
// Methods only ever see values they asked for; the range enters the yardstick
// alone.
package bench
