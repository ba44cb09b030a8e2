package study

// Limits bound what the service takes on. [DefaultLimits] are sensible for one
// machine.
type Limits struct {
	Studies    int // in all
	Priors     int // in all
	OpenTrials int // of a study
	Events     int // trials and observations of a study; an Ask takes time cubic in them
	Ask        int // trials asked for at once
	Points     int // predicted at once
	Dims       int // coordinates of a space's encoding
	Candidates int // rows of a finite space, and drawn for a proposal elsewhere
	Tasks      int // learned from
	TaskRows   int // observations of one task; learning takes time cubic in them
	TotalRows  int // observations of all tasks
	Steps      int // values of the curves of a study, and of all tasks
	Index      int // points of a prior's index set
	PriorBytes int // of an encoded prior that is uploaded
	Files      int // of past tasks in one request
	FileLines  int // of one of them
}

// DefaultLimits are the limits if nothing else is said.
func DefaultLimits() Limits {
	return Limits{
		Studies: 1000, Priors: 1000, OpenTrials: 100, Events: 2000, Ask: 32, Points: 200,
		Dims: 100, Candidates: 10000,
		Tasks: 500, TaskRows: 500, TotalRows: 20000, Steps: 500000, Index: 500, PriorBytes: 64 << 20,
		Files: 100, FileLines: 500000,
	}
}

// within fails if n is above a limit of what is sent.
func within(what string, n, limit int) error {
	if n > limit {
		return &LimitError{What: what, Limit: limit}
	}
	return nil
}

// room fails if n is above a limit of what is kept.
func room(what string, n, limit int) error {
	if n > limit {
		return &LimitError{What: what, Limit: limit, Kept: true}
	}
	return nil
}
