package f64

func (*generic) PoleSum(a2, b2, s, w, work []float64) float64 {
	n := len(s)
	t, d, sum := work[:n], work[n:][:n], work[2*n:][:n]
	copy(t, s)
	clear(d)
	clear(sum)
	for i, b := range b2 {
		poleStep(a2[i], b, s, t, d, sum)
	}
	if len(a2) > 0 {
		poleStep(a2[len(a2)-1], 0, s, t, d, sum)
	}
	return Generic.Dot(w, sum)
}

// poleStep advances the recurrence of PoleSum by one row for every pole.
func poleStep(a, b float64, s, t, d, sum []float64) {
	t, d, sum = t[:len(s)], d[:len(s)], sum[:len(s)]
	for j, sj := range s {
		tj, dj := t[j], d[j]
		r := 1 / (a + tj)
		sum[j] += (a + dj) * r
		tr, br := tj*r, b*r
		d[j] = b*tr*tr + br*a*dj*r
		t[j] = sj + br*tj
	}
}
