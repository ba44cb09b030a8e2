// Package space says what may be tried and what was measured there: parameters, the spaces they span, points, tasks,
// and the errors that name a place in such data. Package cmbo uses it under its own names: programs that only propose
// and tell need not import it.
//
// A point is a row of float64 with one entry a parameter. Models see it in the unit cube, where [Space.Encode] puts
// it. Data never makes a call panic; an index out of range, a negative number of points and a nil or zero Space do,
// where a call returns no error.
package space
