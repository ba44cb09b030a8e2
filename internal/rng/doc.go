// Package rng names random streams.
//
// Whatever draws random numbers in this module asks for a stream of its own, by seed, label and indices:
//
//	r := rng.Stream(seed, "sobol", uint64(step))
//
// A stream is a pure function of its name. It does not depend on what other streams exist, how much was drawn from them or
// in which order they were asked for, so work may be cut by index and spread over goroutines, or resumed in the middle,
// without changing a single draw. The streams are part of the promise that a seed and a history give the same proposals:
// they never change (the golden test holds their first values).
//
// A stream serves one goroutine at a time; asking for streams is safe from any number of goroutines.
package rng
