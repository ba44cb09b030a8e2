// Package optim minimises smooth functions of a few to a few hundred variables in a box:
//
//	minimise f(x)  subject to  lo ≤ x ≤ hi.
//
// It is made for functions that may fail. A value or gradient that is not finite shortens the step and is otherwise ignored.
// There is no error: the result is the best point at which f was finite, and never worse than the start.
//
// Infinite entries of lo and hi are no bounds. Functions are called one at a time, at points inside the box only, and must
// not keep the slices they are given. Results are determined by the arguments.
package optim
