package optim

// MultiStart searches from every start in order and returns the best result: the
// lowest value, among equal ones the lowest index. A start where f is not finite
// counts only if all are so. The result's X aliases m and is valid until its next use.
// It panics if there is no start, and as [Minimizer.Minimize] does.
func (m *Minimizer) MultiStart(f Func, starts [][]float64, lo, hi []float64, o Options) Result {
	if len(starts) == 0 {
		panic("optim: MultiStart: no start")
	}
	var best Result
	for i, x0 := range starts {
		r := m.Minimize(f, x0, lo, hi, o)
		if i == 0 || r.status != notFinite && (best.status == notFinite || r.F < best.F) {
			best = r
			m.multi = append(m.multi[:0], r.X...)
		}
	}
	best.X = m.multi
	return best
}
