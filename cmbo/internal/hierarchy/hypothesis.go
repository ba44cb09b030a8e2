package hierarchy

// A hypothesis on what the target is like, before offset and scale: a Gaussian process. What a hypothesis costs is in
// covariance, which is called for each point told at each block of candidates; all else is called once.
type hypothesis interface {
	// mean sets dst to the prior means at points.
	mean(dst []float64, at *located)
	// variance sets dst to the prior variances at candidates.
	variance(dst []float64, at *located)
	// covariance sets dst to the prior covariances of a crossing: from rest and pop of it their
	// sum alone, unless facts say apart.
	covariance(dst []float64, c *crossing)
	// about returns the prior mass and what else a run goes by.
	about() *facts
}

// facts are what a run knows of a hypothesis beside its process.
type facts struct {
	transfers bool    // takes something over from the past
	prior     float64 // mass
	tail      float64 // share of offsets of a wider spread
	ownNoise  float64 // variance of values that come without one, in units of the tasks' values; 0 for the run's
	apart     bool    // the covariances need e's without the population's, for which each panel takes twice as long
}

func (f *facts) about() *facts { return f }
