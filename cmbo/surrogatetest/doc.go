// Package surrogatetest checks that a [cmbo.Surrogate] keeps the contract that package cmbo relies on, as an Optimizer would
// use it: with data that grow by a value, points pending, parameters and states that come back from a log.
package surrogatetest
