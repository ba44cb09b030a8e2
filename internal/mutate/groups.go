package main

// groups are the parts of the project that hold its formulas, each with the tests
// that have to notice a change: those of its own package first, which take seconds.
var groups = []group{
	{"gaussian", []string{"gaussian/*.go"}, [][]string{{"./gaussian"}}},
	{"kernel", []string{"kernel/*.go"}, [][]string{{"./kernel/..."}}},
	{"acq", []string{"cmbo/acq/*.go", "cmbo/acquisition.go"}, [][]string{{"./cmbo/acq"}, {"./cmbo"}}},
	{"model", []string{
		"cmbo/adaptive.go", "cmbo/mixture.go", "cmbo/plaingp.go", "cmbo/view.go", "cmbo/prototype.go", "cmbo/posteriors.go",
		"cmbo/weights.go", "cmbo/scale.go", "cmbo/kmeans.go", "cmbo/kmeans_bounds.go", "cmbo/partition.go",
	}, [][]string{{"./cmbo"}}},
	{"theorem", []string{"cmbo/theorem.go", "cmbo/theorem_terms.go"}, [][]string{{"-run", "Theorem|RegretBound", "./cmbo"}, {"./cmbo"}}},
	{"journal", []string{"cmbo/journal.go"}, [][]string{{"-run", "Journal", "./cmbo"}, {"./cmbo"}}},
	{"snapshot", []string{"cmbo/snapshot.go"}, [][]string{{"-run", "Snapshot|Restore", "./cmbo"}, {"./cmbo"}}},
}
