package main

// suites that several groups run in the end.
var (
	internals = []suite{
		{"./cmbo/internal/model", ""}, {"./cmbo/internal/gp", ""}, {"./cmbo/internal/cluster", ""}, {"./cmbo/internal/hierarchy", ""},
	}
	whole = suite{"./cmbo", ""}
)

// groups are the parts of the project that hold its formulas, each with the tests
// that have to notice a change, the quickest first.
var groups = []group{
	{"theorem", []string{"cmbo/theorem/*.go"}, []suite{{"./cmbo/theorem", ""}, {"./cmbo", "Theorem|RegretBound"}, whole}},
	{"journal", []string{"cmbo/journal.go", "cmbo/internal/runlog/seal.go", "cmbo/journalfile/journalfile.go"}, []suite{{"./cmbo/journalfile", ""}, {"./cmbo", "Journal"}, whole}},
	{"snapshot", []string{"cmbo/snapshot.go", "cmbo/internal/runlog/log.go", "cmbo/internal/runlog/stored.go"}, []suite{{"./cmbo", "Snapshot|Restore|Journal"}, whole}},
	{"hierarchy", []string{"cmbo/internal/hierarchy/*.go"}, []suite{{"./cmbo/internal/hierarchy", ""}, {"./cmbo", "Golden|Explain|Transfer"}, whole}},
	{"model", []string{"cmbo/internal/cluster/*.go", "cmbo/internal/gp/*.go", "cmbo/internal/model/*.go", "cmbo/internal/scaling/*.go"},
		append(internals, suite{"./cmbo/internal/scaling", ""}, suite{"./cmbo", "Golden|Mixture|Adaptive"}, whole)},
	{"acq", []string{"cmbo/acq/*.go", "cmbo/acquisition.go"}, []suite{{"./cmbo/acq", ""}, whole}},
	{"kernel", []string{"kernel/*.go"}, append([]suite{{"./kernel", ""}, {"./kernel/kerneltest", ""}}, append(internals, whole)...)},
	{"gaussian", []string{"gaussian/*.go"}, append([]suite{{"./gaussian", ""}}, append(internals, whole)...)},
}
