package main

import (
	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// contextWays are what a run is told of its task: nothing, its descriptors, those of a task
// drawn at random, past tasks having been dealt others' too.
var contextWays = []way{
	{name: "without descriptors", transfer: true, handling: told},
	{name: "with", transfer: true, handling: told},
	{name: "dealt out at random", transfer: true, handling: told},
}

// speaks reports whether a run is told descriptors.
func (s *study) speaks(m way) bool { return s.contexts && m != contextWays[0] }

// anew reports whether each repeat draws the rows of past tasks and deals descriptors out anew.
func (s *study) anew() bool { return s.contexts && s.constraints == nil }

// described returns what a run on a target is told of each task, by index. What repeat numbers
// is dealt out anew.
func (s *study) described(m way, target int, repeat ...uint64) func(i int) cmbo.Context {
	switch {
	case !s.contexts:
		return func(int) cmbo.Context { return nil }
	case m != contextWays[2]:
		return func(i int) cmbo.Context { return s.tasks[i].Context }
	}
	deal := rng.Stream(s.protocol.Seed, "context", append([]uint64{uint64(target)}, repeat...)...).Perm(len(s.tasks))
	return func(i int) cmbo.Context { return s.tasks[deal[i]].Context }
}
