package bench

import "time"

// estimate counts what is done and foretells how long the rest takes. What
// methods and tables cost differs by orders of magnitude, so each pair has a
// mean of its own.
type estimate struct {
	done, known, failed, total int
	workers                    int
	spent                      map[runKey]pace
	left                       map[runKey]int
}

type pace struct {
	seconds float64
	n       int
}

// class is what the runs of a method on a table have in common, or its models.
func (k runKey) class() runKey {
	c := runKey{space: k.space, method: k.method}
	if k.task != "" {
		c.task = "any"
	}
	return c
}

func newEstimate(open []*batch, total int, before []Timing, workers int) *estimate {
	e := &estimate{total: total, workers: workers, spent: make(map[runKey]pace), left: make(map[runKey]int)}
	missing := 0
	models := make(map[runKey]bool)
	for _, b := range open {
		if !models[b.key] {
			models[b.key] = true
			e.left[b.key.class()]++
		}
		missing += len(b.runs)
		for _, r := range b.runs {
			e.left[r.class()]++
		}
	}
	e.known = total - missing
	e.done = e.known
	for i := range before {
		e.add(before[i].key(), before[i].Seconds)
	}
	return e
}

func (e *estimate) add(k runKey, seconds float64) {
	c := k.class()
	p := e.spent[c]
	p.seconds += seconds
	p.n++
	e.spent[c] = p
}

// finished counts a run or a model.
func (e *estimate) finished(k runKey, seconds float64) {
	e.add(k, seconds)
	if c := k.class(); e.left[c] > 0 {
		e.left[c]--
	}
	if k.task != "" {
		e.done++
	}
}

// at returns the state after k was finished.
func (e *estimate) at(k runKey, elapsed time.Duration) Progress {
	p := Progress{Done: e.done, Known: e.known, Failed: e.failed, Total: e.total, Last: k.String(), Elapsed: elapsed}
	if s := elapsed.Seconds(); s > 0 {
		p.Rate = float64(e.done-e.known) / s
		p.Left = time.Duration(e.seconds() / float64(e.workers) * float64(time.Second))
	}
	return p
}

// seconds is the work that is left. Classes without a run yet count as the mean
// of those that have one.
func (e *estimate) seconds() float64 {
	var sum, mean float64
	var n int
	for c := range e.spent {
		mean += e.spent[c].seconds
		n += e.spent[c].n
	}
	if n > 0 {
		mean /= float64(n)
	}
	for c, left := range e.left {
		if p := e.spent[c]; p.n > 0 {
			sum += float64(left) * p.seconds / float64(p.n)
		} else {
			sum += float64(left) * mean
		}
	}
	return sum
}
