// Package report turns the records of an experiment into numbers, and the numbers into documents: [Analyse] makes a
// [Summary] of what package bench kept of the runs, and the Summary writes itself as one HTML page and as CSV files.
//
// # What is compared
//
// A run is named by space, split, task and repeat; all methods of an experiment see the same
// initial rows in the same run. A [Comparison] holds methods against each other in one space under
// one acquisition function, on the runs that all of them have. Methods whose records name no
// acquisition, as random search, stand beside every acquisition function with the same runs.
//
// So an experiment may be analysed before it is finished. A method that has less than half of the runs that any has in
// that space is not compared, lest it leave nothing to the others; over all spaces those are that are compared in each.
//
// # Measures
//
// Let r(q) be the normalised simple regret of a run after q queries, q = 0 being after the initial
// rows, and T the budget. Within a space a mean weighs all shared runs alike; over several spaces
// it is the mean of the spaces' means, so that each space counts the same.
//
//   - Regret: the mean of r(q).
//   - AUC: the mean of (r(1) + ... + r(T))/T. The geometric mean over spaces of the spaces' means stands beside it, where no
//     space of large regrets drowns the others, and that of the queries from the sixth on; a mean below 0.0001 counts as
//     that in both, as in ratios.
//   - Confidence limits of both: mean ± t·s. Runs of a task are not independent, tasks are taken to be:
//     s² = T/(T−1)·Σ(v − mean·n)²/(Σn)² over the T tasks of a space with sum of values v and n runs each, and t is
//     Student's 97.5% quantile with T−1 degrees of freedom. Over S spaces s² is their sum over S², with Satterthwaite's
//     degrees of freedom. They say how well the mean over all tasks of the kind is known, and are unknown if a space has a
//     single task.
//   - Rank: the mean over runs of the rank of r(q) among the compared methods, regrets rounded to multiples of 1e-8, ties
//     given the mean of the ranks they take up, 1 the lowest regret.
//   - Solved: the fraction of runs with r(q) < 0.005, the paper's C.
//   - [Ratio]: limits are of the bootstrap: as many tasks as a space has are drawn with replacement, each with all of its
//     runs, for both methods alike. Draws depend on the seed and the space alone; nothing is corrected for the number of
//     methods, and limits are too narrow where tasks are few.
//   - NLPD: z²/2 + ln(sd/range) + ln(2π)/2 for each query that was predicted, z being the standardised error and sd the
//     deviation of a measurement: the negative logarithm of the predictive density on the scale where the task's table has
//     range 1. Its mean and median pool the queries of all shared runs, as does the coverage, the fraction with
//     |z| ≤ 1.6449. Every method is judged where it chose to look.
//
// A Summary, and every byte of what it writes, is a function of the contents of the records, whatever their order and
// however many goroutines there are. Other processors may round the last digit of a number differently.
package report
