package main

// groups are the parts of the project that hold its formulas, each with the tests
// that have to notice a change: those nearest to it first, and those of cmbo that use
// it.
var groups = []group{
	{"theorem", []string{"cmbo/paper/theorem.go"}, []suite{{"./cmbo/paper", "Theorem|RegretBound|AlphaFactors|Tight|GreedyGain|NoiseRange"}}},
	{"journal", []string{"cmbo/journal.go", "cmbo/internal/runlog/seal.go", "cmbo/journalfile/journalfile.go"}, []suite{{"./cmbo/journalfile", ""}, {"./cmbo", "Journal|Restore|Panic"}}},
	{"snapshot", []string{"cmbo/snapshot.go", "cmbo/internal/runlog/log.go", "cmbo/internal/runlog/stored.go"}, []suite{{"./cmbo/internal/runlog", ""}, {"./cmbo", "Snapshot|Restore|Journal|Enqueue|Config"}, {"./cmbo", ""}}},
	{"outputs", []string{"cmbo/output*.go", "cmbo/internal/runlog/output.go"}, []suite{{"./cmbo/internal/runlog", ""}, {"./cmbo", "Constraint|RequirementsAsk|Foretell|Violation|Stopped|CurvesOfTasks|CostErrors|TestBudget|Output|Lead|Feasible|Snapshot|CheckOutputs"}}},
	{"hierarchy", []string{"cmbo/internal/hierarchy/*.go"}, []suite{{"./cmbo/internal/hierarchy", ""}, {"./cmbo", "DefaultTrace|Golden|Explain|Transfer|Fail"}}},
	{"model", []string{"cmbo/paper/*.go", "cmbo/paper/internal/cluster/*.go", "cmbo/internal/gp/*.go", "cmbo/internal/scaling/*.go"}, []suite{
		{"./cmbo/internal/gp", ""}, {"./cmbo/paper/internal/cluster", ""}, {"./cmbo/internal/scaling", ""},
		{"./cmbo/paper", ""}, {"./cmbo", "Mixture|Prior|Learn"},
	}},
	{"acq", []string{"cmbo/acq/*.go", "cmbo/acquisition.go"}, []suite{{"./cmbo/acq", ""}, {"./cmbo", "Acquisition|Optimizer|Golden"}}},
	{"transfer", []string{"cmbo/transfer.go"}, []suite{{"./cmbo", "InWords|Transfer|Verdict|Focus|CheckByHand|CheckSays|OutputsExplained|Context|BadInput|SurrogateIsTold|Ranks|RegretsOf"}}},
	{"success", []string{"cmbo/success.go", "cmbo/consult.go"}, []suite{{"./cmbo", "Thompson|ToldOf|Multiply|StateIs|Requirements|FailuresOf|TestCost|Noisy|Noise|Positive|Quantile|Fail|Success|Conform|InfiniteScores|Lead|Progress|Hedge|Constraint|OutlookCost|DefaultTrace"}}},
	{"curve", []string{"cmbo/curve.go", "cmbo/internal/curve/*.go"}, []suite{{"./cmbo/internal/curve", ""}, {"./cmbo", "Report|Curve|Stopped|Estimate|Prospect|Checkpoints|Resumed|Cutoff"}}},
	{"cost", []string{"cmbo/cost.go"}, []suite{{"./cmbo", "TestCost|TestBudget|RequirementsAsk|OutlookCost|OutputsExplained"}}},
	{"relation", []string{"cmbo/context.go", "cmbo/internal/hierarchy/relation.go"}, []suite{{"./cmbo/internal/hierarchy", ""}, {"./cmbo", "Context|Relation"}}},
	{"importance", []string{"cmbo/importance.go", "cmbo/recommend.go"}, []suite{{"./cmbo", "Importance|Recommend|Again|HasNoOwn"}}},
	{"check", []string{"cmbo/check.go"}, []suite{{"./cmbo", "Check|Contradicted"}}},
	{"forecast", []string{"cmbo/forecast.go"}, []suite{{"./cmbo", "BinomialTail|NoForecasts|SummedUp|Calibration|Forecast|Outlook|OutputsExplained|Positive"}}},
	{"explain", []string{"cmbo/explain.go"}, []suite{{"./cmbo", "InWords|Explain|Outlook|Cost|Budget|NoisyBest|NoUnit|ReportStops|FirstBatch|Positive|FeasibleObs|NothingFeasible"}}},
	{"propose", []string{"cmbo/propose.go"}, []suite{{"./cmbo", "DesignOf|ExhaustedSays|BlocksAre|ModelsMade|FittedIs|ScoresThat|Resumed|EqualScores|Feasible|SurrogateIsTold|Trace|Ask|Optimizer|Enqueue|Order|Pool|Explain|Exhaust|Overlap|During|Panic|Constraint|Hedge|Checkpoints|Budget"}}},
	{"optimizer", []string{"cmbo/optimizer.go"}, []suite{{"./cmbo", "Optimizer|Constraint|Feasible|Hedge|View|Snapshot|Option|Refus|Weights|Golden|Fail|Panic|Predict|Enqueue|TaskOfCurve|CurvesOf|Stopped|Context|Output|Noise"}, {"./cmbo/paper", "RunTakesScale|Refusals"}}},
	{"hierarchical", []string{"cmbo/hierarchical.go"}, []suite{{"./cmbo", "Trace|Transfer|Prior|Learn|Explain|Conform|Fail|Config|Encode|TakesPolicy|DefaultScores|ScoresAreNot|RawValuesIn|UnitOfValues"}}},
	{"hedge", []string{"cmbo/hedge.go"}, []suite{{"./cmbo", "Hedge|Plateau|Ablation|DefaultTrace"}}},
	{"positive", []string{"cmbo/positive.go", "cmbo/ypolicy.go"}, []suite{{"./cmbo", "Positive|Skewed|Policy|Quantile|Copula|View|LearnRejects"}}},
	{"learner", []string{"cmbo/learner*.go", "cmbo/learn.go"}, []suite{{"./cmbo", "Learner[ACFR]|LearnerHolds|TooMany|PriorKernels"}, {"./cmbo", "Learn[A-Z]|Learner[IOP]|Prior|Adopt|Encode|CurvesOfTasks"}}},
	{"kernel", []string{"kernel/*.go"}, []suite{{"./kernel", ""}, {"./kernel/kerneltest", ""}}},
	{"gaussian", []string{"gaussian/*.go", "gaussian/internal/fault/*.go"}, []suite{{"./gaussian", ""}, {"./gaussian/multivariate", ""}}},
	{"multivariate", []string{"gaussian/multivariate/*.go"}, []suite{{"./gaussian/multivariate", ""}}},
	{"spectral", []string{"linalg/spectral/*.go"}, []suite{{"./linalg/spectral", ""}, {"./gaussian/multivariate", ""}}},
}
