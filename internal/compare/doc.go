// Command compare times this library side by side with gonum, numpy, scipy and
// scikit-learn on the same numbers, and holds the ratios against targets.
//
//	go run .                                  # the table
//	go run . -rows 'gemm|w2' -rounds 21       # some of it
//	go run . -markdown -json result.json      # for documents
//	go run . -learn 500,1000,2000,5000        # Learn on many tasks: time, memory
//	go run . -figures ../../linalg            # the scaling plots
//
// # How it measures
//
// The program that is started only conducts. It writes the inputs of a row to a
// folder, starts one process for each contender's side - this library as it is
// (gonum lives in the same process), this library with linalg/accel, and a Python
// for each BLAS to be had - and has each make the same result from the same
// files. Results that differ by more than the row's tolerance end the row. Then
// the contenders take turns, one sample each a round, in an order that is
// reversed from round to round; a sample repeats the work for some milliseconds.
// Tables show the median over the rounds, and ratios are of medians of one run.
//
// All work is done by one thread (GOMAXPROCS and the thread counts of BLAS are
// 1), but for the row of two goroutines. Inputs are seeded. Nothing outside the
// temporary folder and the files asked for is written.
package main
