package acq

// Thompson is Thompson sampling: the point proposed is where a function drawn from
// the posterior is largest. The caller has to draw the function at all candidates
// jointly; Score, which sees one at a time, knows no more than the mean.
//
// W. R. Thompson, On the likelihood that one unknown probability exceeds another
// in view of the evidence of two samples, Biometrika 25 (1933) 285–294.
type Thompson struct{}

// Score returns the mean.
func (Thompson) Score(mean, sd float64) float64 { return UCB{}.Score(mean, sd) }

// String returns "Thompson".
func (Thompson) String() string { return "Thompson" }
