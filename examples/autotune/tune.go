package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// past is what was learned of other shapes before the program was built.
//
//go:embed past.prior
var past []byte

// newSpace describes the block sizes to the optimiser: nothing is left out beforehand.
func newSpace() (*cmbo.Space, error) {
	return cmbo.NewSpace(
		cmbo.LogInt("inner", 1, 4096),
		cmbo.LogInt("rows", 1, 2048),
		cmbo.LogInt("columns", 1, 2048),
	)
}

// blocksOf reads a row of the space.
func blocksOf(row []float64) (b [3]int) {
	for i := range b {
		b[i] = int(row[i])
	}
	return b
}

// tune measures budget block sizes for a product, each of which follows from the times
// before, and returns them in their order with their times. A nil prior stands for no
// experience. Logarithms of times are told, whose differences are ratios.
func tune(ctx context.Context, prior *cmbo.Prior, p *product, budget int, seed uint64) ([]measured, error) {
	opts := []cmbo.Option{cmbo.WithMinimize(), cmbo.WithSeed(seed)}
	space, err := newSpace()
	if prior != nil {
		space, opts = prior.Space(), append(opts, cmbo.WithPrior(prior))
	}
	if err != nil {
		return nil, err
	}
	opt, err := cmbo.New(space, opts...)
	if err != nil {
		return nil, err
	}
	var out []measured
	for range budget {
		trial, err := opt.Ask(ctx)
		if err != nil {
			return nil, err
		}
		m := p.measure(blocksOf(trial.X))
		if err := opt.Tell(trial.ID, math.Log(m.seconds)); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// searchAtRandom is tune without a model: every time the same sizes for one seed.
func searchAtRandom(p *product, budget int, seed uint64) ([]measured, error) {
	space, err := newSpace()
	if err != nil {
		return nil, err
	}
	r := rng.Stream(seed, "autotune random")
	var out []measured
	for range budget {
		row, err := space.Decode([]float64{r.Float64(), r.Float64(), r.Float64()})
		if err != nil {
			return nil, err
		}
		out = append(out, p.measure(blocksOf(row)))
	}
	return out, nil
}

// The past: shapes, and block sizes measured for each, the same ones, which keeps the prior
// small: its moments are those of as many points.
const (
	pastShapes = 24
	pastRows   = 48
)

// record measures the past on this machine and writes the prior learned of it.
func record(ctx context.Context, s settings, w io.Writer) error {
	space, err := newSpace()
	if err != nil {
		return err
	}
	var tasks []cmbo.Task
	for i := range pastShapes {
		p := newProduct(drawShape(s.seed, "past", i))
		rows, err := searchAtRandom(p, pastRows, s.seed)
		if err != nil {
			return err
		}
		t := cmbo.Task{ID: p.shape.String()}
		for _, m := range rows {
			t.X = append(t.X, []float64{float64(m.blocks[0]), float64(m.blocks[1]), float64(m.blocks[2])})
			t.Y = append(t.Y, math.Log(m.seconds))
		}
		tasks = append(tasks, t)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	prior, err := cmbo.Learn(ctx, space, tasks, cmbo.WithMinimize())
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := prior.Encode(&b); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d shapes, %d block sizes each: %s, %d bytes\n", pastShapes, pastRows, s.record, b.Len())
	return os.WriteFile(s.record, b.Bytes(), 0o644)
}
