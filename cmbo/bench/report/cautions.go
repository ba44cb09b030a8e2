package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// byRegret returns the results of c, lowest last regret first, and of equal ones
// the order they have.
func byRegret(c *Comparison) []*Result {
	rs := make([]*Result, len(c.Results))
	for i := range c.Results {
		rs[i] = &c.Results[i]
	}
	slices.SortStableFunc(rs, func(a, b *Result) int {
		return cmp.Compare(math.Round(a.Final()/rankUnit), math.Round(b.Final()/rankUnit))
	})
	return rs
}

// cautions are what a reader has to know before trusting a comparison.
func (c *Comparison) cautions() []string {
	var out []string
	absent, left := []string{}, 0
	for _, e := range c.Entries {
		if !e.Compared {
			absent = append(absent, fmt.Sprintf("%s (%d)", e.Method, e.Runs))
		} else {
			left += e.Runs - c.Runs
		}
	}
	if len(absent) > 0 {
		t := "Left out, since less than half of the %s there: %s."
		if c.Space == "" {
			t = "Left out, since some space does not compare them (of the %s there): %s."
		}
		out = append(out, fmt.Sprintf(t, plural(c.Known, "run that is", "runs that are"), strings.Join(absent, ", ")))
	}
	if left > 0 {
		out = append(out, fmt.Sprintf("The experiment is incomplete: %d runs of the compared methods are left out because another of them lacks them.", left))
	}
	switch {
	case c.fewest == 1 && c.Space != "":
		out = append(out, "There is a single task, so there are no intervals.")
	case c.fewest == 1:
		out = append(out, "There is a space with a single task, so there are no intervals.")
	case c.fewest > 1 && c.fewest < 10:
		out = append(out, fmt.Sprintf("With as few as %d tasks in a space, intervals from the bootstrap are too narrow.", c.fewest))
	}
	return out
}

func plural(n int, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, many)
}
