package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Finding is what one comparison comes to, in sentences.
type Finding struct {
	Space, Acquisition string
	Sentences          []string
}

// Findings puts the comparisons into words: which method has the lowest mean
// regret, how cm-BO as it is run by default stands against each of the others,
// and who beats all of cm-BO. Every sentence follows from the numbers alone;
// "beyond doubt" is short for a bootstrap interval that excludes zero.
func (s *Summary) Findings() []Finding {
	var fs []Finding
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		f := Finding{Space: c.Space, Acquisition: c.Acquisition}
		if len(c.Results) < 2 {
			f.Sentences = []string{"There is nothing to compare: no two methods share enough runs."}
			fs = append(fs, f)
			continue
		}
		f.Sentences = append(f.Sentences, s.winner(c))
		if st := s.standing(c); st != "" {
			f.Sentences = append(f.Sentences, st)
		}
		if b := beaten(c); b != "" {
			f.Sentences = append(f.Sentences, b)
		}
		fs = append(fs, f)
	}
	return fs
}

// byRegret returns the results of c, lowest last regret first, and of equal ones
// the order they have.
func byRegret(c *Comparison) []*Result {
	rs := make([]*Result, len(c.Results))
	for i := range c.Results {
		rs[i] = &c.Results[i]
	}
	slices.SortStableFunc(rs, func(a, b *Result) int {
		switch x, y := math.Round(a.Final()/rankUnit), math.Round(b.Final()/rankUnit); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return rs
}

// leaders returns the methods that share the lowest last regret, rounded as for
// ranks.
func leaders(c *Comparison) []string {
	rs := byRegret(c)
	var names []string
	for _, r := range rs {
		if math.Round(r.Final()/rankUnit) == math.Round(rs[0].Final()/rankUnit) {
			names = append(names, r.Method)
		}
	}
	return names
}

func (s *Summary) winner(c *Comparison) string {
	rs := byRegret(c)
	best := rs[0]
	if tied := leaders(c); len(tied) > 1 {
		return fmt.Sprintf("The lowest mean regret after %d queries, %s, is shared by %d of %d methods: %s.",
			s.Budget, regretText(best.Final()), len(tied), len(rs), listText(tied, 6))
	}
	worse := 0
	var even []string
	for _, r := range rs[1:] {
		if p, _ := c.Pair(best.Method, r.Method); p.Regret.Sign() < 0 {
			worse++
		} else {
			even = append(even, r.Method)
		}
	}
	t := fmt.Sprintf("%s has the lowest mean regret after %d queries, %s%s, and is better beyond doubt than %d of the %d others",
		best.Method, s.Budget, regretText(best.Final()), limitsText(best.Lower[s.Budget], best.Upper[s.Budget]), worse, len(rs)-1)
	if len(even) > 0 {
		t += "; not told apart from it: " + listText(even, 6)
	}
	return t + "."
}

// standing tells where the default variant of cm-BO loses and wins.
func (s *Summary) standing(c *Comparison) string {
	own := c.Result(standard())
	if own == nil {
		return ""
	}
	var wins, losses, even []string
	for _, r := range byRegret(c) {
		if familyOf(r.Method) == ownFamily {
			continue
		}
		p, _ := c.Pair(own.Method, r.Method)
		d := p.Regret
		switch d.Sign() {
		case -1:
			wins = append(wins, r.Method)
		case 1:
			losses = append(losses, fmt.Sprintf("%s (by %s%s)", r.Method, regretText(d.Mean), limitsText(d.Lower, d.Upper)))
		default:
			even = append(even, r.Method)
		}
	}
	if len(wins)+len(losses)+len(even) == 0 {
		return ""
	}
	t := fmt.Sprintf("The default, %s, reaches %s. It ", own.Method, regretText(own.Final()))
	if len(losses) > 0 {
		t += "loses beyond doubt to " + listText(losses, 6)
	} else {
		t += "loses beyond doubt to none of the methods outside of cm-BO"
	}
	if len(wins) > 0 {
		t += "; it beats " + listText(wins, 6)
	} else {
		t += "; it beats none beyond doubt"
	}
	if len(even) > 0 {
		t += "; it is not told apart from " + listText(even, 6)
	}
	return t + "."
}

// beaten names the methods to which every variant of cm-BO loses.
func beaten(c *Comparison) string {
	var own, others, masters []string
	for i := range c.Results {
		if m := c.Results[i].Method; familyOf(m) == ownFamily {
			own = append(own, m)
		} else {
			others = append(others, m)
		}
	}
	if len(own) < 2 {
		return ""
	}
	for _, o := range others {
		all := true
		for _, m := range own {
			p, _ := c.Pair(o, m)
			all = all && p.Regret.Sign() < 0
		}
		if all {
			masters = append(masters, o)
		}
	}
	if len(masters) == 0 {
		return ""
	}
	return fmt.Sprintf("All %d variants of cm-BO lose beyond doubt to %s.", len(own), listText(masters, 6))
}

// overview is what stands at the top: how often which method came first.
func (s *Summary) overview() []string {
	var cases, first, shared int
	wins, beats, losses := map[string]int{}, map[string]int{}, map[string]int{}
	var names []string
	even := 0
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		if c.Space == "" || len(c.Results) < 2 {
			continue
		}
		cases++
		tied := leaders(c)
		own := 0
		for _, m := range tied {
			wins[m]++
			if familyOf(m) == ownFamily {
				own++
			}
		}
		if own == len(tied) {
			first++
		} else if own > 0 {
			shared++
		}
		for j := range c.Results {
			m := c.Results[j].Method
			names = append(names, m)
			if p, ok := c.Pair(standard(), m); ok && familyOf(m) != ownFamily {
				switch p.Regret.Sign() {
				case -1:
					beats[m]++
				case 1:
					losses[m]++
				default:
					even++
				}
			}
		}
	}
	if cases == 0 {
		return []string{"No two methods share enough runs to be compared."}
	}
	names = unique(names)
	slices.SortFunc(names, s.roster.compare)
	count := func(m map[string]int) (list []string, total int) {
		order := slices.Clone(names)
		slices.SortStableFunc(order, func(a, b string) int { return m[b] - m[a] })
		for _, n := range order {
			if m[n] > 0 {
				list = append(list, fmt.Sprintf("%s (%d)", n, m[n]))
				total += m[n]
			}
		}
		return list, total
	}
	winners, _ := count(wins)
	out := []string{fmt.Sprintf("In %s of a space and an acquisition function, the lowest mean regret after %d queries is that of: %s; methods that share it are counted each. Variants of cm-BO alone come first in %d of them, and share the first place with others in %d.",
		plural(cases, "comparison", "comparisons"), s.Budget, strings.Join(winners, ", "), first, shared)}
	if slices.Contains(names, standard()) {
		l, lost := count(losses)
		b, won := count(beats)
		t := fmt.Sprintf("Held against each method outside of cm-BO, its default %s is better beyond doubt %s, worse beyond doubt %s, and not told apart %s.",
			standard(), plural(won, "time", "times"), plural(lost, "time", "times"), plural(even, "time", "times"))
		if lost > 0 {
			t += " It loses to: " + strings.Join(l, ", ") + "."
		}
		if won > 0 {
			t += " It beats: " + strings.Join(b, ", ") + "."
		}
		out = append(out, t)
	}
	return out
}

// cautions are what a reader has to know before trusting a comparison.
func (c *Comparison) cautions() []string {
	var out []string
	absent, left := []string{}, 0
	for _, e := range c.Entries {
		if !e.Compared {
			name := e.Method
			if e.Clusters > 0 {
				name += fmt.Sprintf(" with C = %d", e.Clusters)
			}
			absent = append(absent, fmt.Sprintf("%s (%d)", name, e.Runs))
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

func regretText(v float64) string { return fmt.Sprintf("%.4f", v) }

func limitsText(lo, hi float64) string {
	if !finite(lo) || !finite(hi) {
		return ""
	}
	return fmt.Sprintf(" [%.4f, %.4f]", lo, hi)
}

// listText joins names, at most n of them.
func listText(names []string, n int) string {
	if len(names) > n+1 {
		return strings.Join(names[:n], ", ") + fmt.Sprintf(" and %d more", len(names)-n)
	}
	return strings.Join(names, ", ")
}
