package bench

// A Record is what is kept of one run: a line of an experiment's runs.jsonl.
// All of it follows from the table, the protocol and the seed.
type Record struct {
	Space       string `json:"space"`
	Method      string `json:"method"`
	Acquisition string `json:"acquisition"`
	Split       int    `json:"split"`
	Task        string `json:"task"`
	Repeat      int    `json:"repeat"`
	// Rows are the rows of the task's table that were evaluated, the initial
	// ones first.
	Rows []int `json:"rows"`
	// Regret is the normalised simple regret after the initial rows and after
	// each query.
	Regret []float64 `json:"regret"`
	// Z and LogSD tell how good the prediction of each queried value was:
	// (y − mean)/sd and ln(sd/range) with the deviation of a measurement, noise
	// included, and the range of the task's table. They are rounded to five
	// digits, and empty if the method predicts nothing. Queries without a usable
	// prediction (none was made of that point, or one whose deviation is 0 or not
	// finite) are left out: entry i of one belongs to entry i of the other, but
	// not to query i.
	Z     []float64 `json:"z,omitempty"`
	LogSD []float64 `json:"log_sd,omitempty"`
}
