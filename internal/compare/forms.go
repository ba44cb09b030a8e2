package main

import (
	"fmt"
	"time"
)

// A task is a piece of work with its inputs in memory. run does it once; answer
// gives the numbers that all contenders must agree on, and is not timed. One run
// counts as per pieces. clock, if set, replaces the timing: for work with a
// part that does not count.
type task struct {
	run    func()
	answer func() []float64
	per    float64
	clock  func(reps int) float64
	extra  map[string]float64
}

// time returns the seconds of one piece, the mean over reps runs.
func (t *task) time(reps int) float64 {
	if t.clock != nil {
		return t.clock(reps)
	}
	start := now()
	for range reps {
		t.run()
	}
	return (now() - start) / float64(reps) / max(t.per, 1)
}

var began = time.Now()

// now is the wall clock in seconds, from any origin; a worker that was asked to
// replaces it by the time it had a processor.
var now = func() float64 { return time.Since(began).Seconds() }

// A form is one way to do a kind of work. Names begin with the side they are
// on: "ours", "gonum", "numpy", "sklearn" or "peak".
type form struct {
	name string
	make func(in *inputs) *task
}

// forms holds what Go workers can do, by kind of work.
var forms = map[string][]form{}

func register(kind, name string, f func(in *inputs) *task) {
	forms[kind] = append(forms[kind], form{name, f})
}

// must ends a contender, whose worker reports it.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// sample returns up to 64 entries, evenly spread, of what a result consists of.
func sample(parts ...[]float64) []float64 {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	step := n/64 + 1
	var out []float64
	k := 0
	for _, p := range parts {
		for _, v := range p {
			if k%step == 0 {
				out = append(out, v)
			}
			k++
		}
	}
	return out
}

func (in *inputs) array(name string) []float64 {
	d, ok := in.data[name]
	if !ok {
		panic(fmt.Sprintf("no input %s", name))
	}
	return append([]float64(nil), d...)
}

func (in *inputs) shape(name string) []int { return in.Arrays[name] }
func (in *inputs) n() int                  { return int(in.Params["n"]) }
