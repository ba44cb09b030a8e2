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
	// Rows are the rows of the task's table that were evaluated, the initial ones first.
	Rows []int `json:"rows"`
	// Regret is the normalised simple regret after the initial rows and after each query.
	Regret []float64 `json:"regret"`
	// Z and LogSD tell how good the prediction of each queried value was: (y − mean)/sd and
	// ln(sd/range) with the deviation of a measurement, noise included, and the range of the task's
	// table, to five digits. Both leave out the queries without a prediction of that point whose
	// deviation is positive and finite, so that entry i need not be that of query i.
	Z     []float64 `json:"z,omitempty"`
	LogSD []float64 `json:"log_sd,omitempty"`
}
