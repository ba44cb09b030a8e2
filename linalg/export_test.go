package linalg

// setDuringTest sets *p to v and returns a function that restores it.
func setDuringTest[T any](p *T, v T) (restore func()) {
	old := *p
	*p = v
	return func() { *p = old }
}
