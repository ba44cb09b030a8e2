package main

// groups are the parts of the project that hold its formulas, each with the tests
// that have to notice a change: those of its own package first, which take seconds.
var groups = []group{
	{"gaussian", []string{"gaussian/*.go"}, [][]string{{"./gaussian"}}},
	{"kernel", []string{"kernel/*.go"}, [][]string{{"./kernel/..."}}},
	{"acq", []string{"cmbo/acq/*.go", "cmbo/acquisition.go"}, [][]string{{"./cmbo/acq"}, {"./cmbo"}}},
	{"model", []string{
		"cmbo/internal/cluster/*.go", "cmbo/internal/gp/*.go", "cmbo/internal/model/*.go", "cmbo/internal/hierarchy/*.go", "cmbo/scale.go",
	}, [][]string{{"./cmbo/internal/..."}, {"-run", "Golden|Mixture|Adaptive|Learn", "./cmbo"}, {"./cmbo"}}},
	{"theorem", []string{"cmbo/theorem/*.go"}, [][]string{{"./cmbo/theorem"}, {"-run", "Theorem|RegretBound", "./cmbo"}, {"./cmbo"}}},
	{"journal", []string{"cmbo/journal.go", "cmbo/journalfile/journalfile.go"}, [][]string{{"./cmbo/journalfile"}, {"-run", "Journal", "./cmbo"}, {"./cmbo"}}},
	{"snapshot", []string{"cmbo/snapshot.go"}, [][]string{{"-run", "Snapshot|Restore|Journal", "./cmbo"}, {"./cmbo"}}},
}
