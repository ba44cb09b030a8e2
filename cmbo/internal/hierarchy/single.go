package hierarchy

// singleTask is something like one past task: of its posterior N(μ, C − Vᵀ·V) given its
// values, τ·C wider.
type singleTask struct {
	facts
	m   *Model
	i   int // of the model's singles
	tau float64
}

func singleTasks(m *Model, s *Settings, mass float64) []hypothesis {
	var out []hypothesis
	for i, task := range m.singleOf {
		for _, tau := range s.Taus {
			out = append(out, &singleTask{facts{
				level: SingleTask, cluster: -1, tasks: []int{task}, prior: mass / float64(len(m.singles)*len(s.Taus)),
				tail: s.TransferTail, moments: []int{0}, many: true,
			}, m, i, tau})
		}
	}
	return out
}

func (h *singleTask) mean(dst []float64, at *located) {
	for j := range dst {
		dst[j] = h.m.grid.meanAt(at, j, h.m.singles[h.i].mean)
	}
}

func (h *singleTask) variance(dst []float64, at *view) {
	for j, rest := range at.restVar {
		dst[j] = rest + (1+h.tau)*(at.variance[0][j]-rest)
	}
	w := at.whiten(h.m, h.i)
	rows, _ := w.Dims()
	for i := range rows {
		for j, x := range w.Row(i) {
			dst[j] -= x * x
		}
	}
	for j, v := range dst {
		dst[j] = max(v, 0)
	}
}

func (h *singleTask) covariance(dst []float64, c *crossing) {
	pop, task := c.moments[0], c.task(h.i)
	for j := range dst {
		dst[j] = c.rest[j] + (1+h.tau)*pop[j] - task[j]
	}
}
