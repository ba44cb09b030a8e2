package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/baseline"
	"github.com/gocmbo/cmbo/cmbo/bench"
)

// Flags that would change nothing are mistakes: who gives one believes that the
// numbers are others than they are.

// only refuses flags beside one that works from records, and those that go with it. It is
// quiet in any case.
func (c *overrides) only(flag string, with ...string) error {
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		if name != flag && name != "quiet" && !slices.Contains(with, name) {
			return fmt.Errorf("-%s changes nothing: -%s works from the records alone", name, flag)
		}
	}
	return nil
}

// idle refuses flags without an effect on a protocol that is settled.
func (c *overrides) idle(p *bench.Protocol) error {
	some := func(does func(*bench.Method) bool) bool {
		return slices.ContainsFunc(bench.Methods(), func(m bench.Method) bool {
			return does(&m) && slices.ContainsFunc(p.Methods, func(name string) bool { return strings.EqualFold(name, m.Name) })
		})
	}
	for _, f := range []struct {
		name string
		idle bool
		why  string
	}{
		{"sources", p.Own, "HPO-B's protocol says which tasks are past"},
		{"initial", p.Own, "HPO-B's protocol has initial configurations of its own"},
		{"clusters", !some(func(m *bench.Method) bool { return m.Clusters }), "no method that is run by it clusters"},
		{"acquisition", !some(func(m *bench.Method) bool { return m.Use != baseline.NoAcquisition }), "no method that is run has one"},
	} {
		if c.given[f.name] && f.idle {
			return fmt.Errorf("-%s changes nothing: %s", f.name, f.why)
		}
	}
	return nil
}
