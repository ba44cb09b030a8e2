package main

import (
	"math/rand/v2"

	"github.com/gocmbo/cmbo/cmbo"
)

// newSpace describes the classifier's hyper-parameters to the optimiser.
func newSpace() (*cmbo.Space, error) {
	return cmbo.NewSpace(
		cmbo.LogFloat("lambda", 1e-6, 1e2),
		cmbo.LogFloat("width", 0.02, 20),
		cmbo.Categorical("kernel", kernelNames...),
		cmbo.Int("degree", 1, 5),
	)
}

// configOf reads a row of the space: numbers as they are, a choice by its index.
func configOf(row []float64) config {
	return config{lambda: row[0], width: row[1], kernel: kernelNames[int(row[2])], degree: int(row[3])}
}

// randomRow draws a point of the space: every kernel and degree with the same
// probability, the floats evenly on their logarithmic scales.
func randomRow(space *cmbo.Space, g *rand.Rand) ([]float64, error) {
	u := make([]float64, space.Dim())
	for i := range u {
		u[i] = g.Float64()
	}
	row, err := space.Decode(u)
	if err != nil {
		return nil, err
	}
	row[3] = float64(1 + g.IntN(5)) // rounding would favour the inner degrees
	return row, nil
}
