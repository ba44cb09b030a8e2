package history_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Old results in a file become the prior of a new run.
func ExampleCSV_Read() {
	file := `study,when,lr,depth,accuracy
iris,Monday,0.001,2,0.71
iris,Monday,0.01,4,0.93
iris,Monday,0.1,8,0.80
digits,Tuesday,0.002,3,0.64
digits,Tuesday,0.02,5,0.88
digits,Tuesday,0.3,9,0.70
`
	space := must(cmbo.NewSpace(cmbo.LogFloat("lr", 1e-4, 1), cmbo.Int("depth", 1, 10)))
	past, err := history.CSV{Space: space, Task: "study", Value: "accuracy"}.Read(strings.NewReader(file))
	if err != nil {
		panic(err)
	}
	for _, t := range past.Tasks {
		fmt.Println(t.ID, len(t.X))
	}
	prior := must(cmbo.Learn(context.Background(), space, past.Tasks))
	opt := must(cmbo.New(space, cmbo.WithPrior(prior)))
	trial := must(opt.Ask(context.Background()))
	fmt.Printf("first trial: lr %.2f, depth %d\n", trial.Float("lr"), trial.Int("depth"))
	// Output:
	// iris 3
	// digits 3
	// first trial: lr 0.03, depth 5
}

// Bad rows can be left out; the report says which and why.
func ExampleReport() {
	file := `lr,depth,value
0.1,3,0.5
0.1,99,0.4
0.2,4,NaN
0.3,five,0.6
`
	space := must(cmbo.NewSpace(cmbo.Float("lr", 0, 1), cmbo.Int("depth", 1, 12)))
	past, err := history.CSV{Space: space, Policy: history.Skip}.Read(strings.NewReader(file))
	fmt.Println(past.Report.Accepted, past.Report.Skipped, err)
	outside := 0
	for _, e := range past.Report.Errors {
		if errors.Is(e, cmbo.ErrOutOfSpace) {
			outside++
		}
		fmt.Println(e)
	}
	fmt.Println(outside, "outside the space")
	// Output:
	// 1 3 <nil>
	// history: line 3: task "task": "depth" is "99": 99 is not in [1, 12]
	// history: line 4: task "task": "value" is "NaN": not finite
	// history: line 5: task "task": "depth" is "five": not a number
	// 2 outside the space
}

// A file of more tasks than fit in the memory passes through one by one.
func ExampleCSV_Tasks() {
	file := strings.NewReader("task,x,value\na,0.1,1\na,0.5,3\nb,0.2,2\nb,0.7,?\n") // an *os.File
	space := must(cmbo.NewSpace(cmbo.Float("x", 0, 1)))
	var report history.Report
	for task, err := range (history.CSV{Space: space, Policy: history.Skip}).Tasks(file, &report) {
		if err != nil {
			panic(err)
		}
		fmt.Println(task.ID, task.X, task.Y)
	}
	fmt.Println(report.Accepted, "rows,", report.Skipped, "left out:", report.Errors[0])
	// Output:
	// a [[0.1] [0.5]] [1 3]
	// b [[0.2]] [2]
	// 3 rows, 1 left out: history: line 5: task "b": "value" is "?": not a number
}

// Further columns of a file become outputs; one that is not there is an error that says which are.
func ExampleMapping_outputs() {
	const file = "lr,value,sec\n0.1,3,42\n0.2,2,\n" // a gap is a value that is missing
	table := history.CSV{Space: must(cmbo.NewSpace(cmbo.Float("lr", 0, 1)))}
	for _, column := range []string{"secs", "sec"} {
		table.Mapping.Outputs = map[string]string{"seconds": column}
		past, err := table.Read(strings.NewReader(file))
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(past.Tasks[0].Outputs)
	}
	// Output:
	// history: line 1: "secs": the header lacks this column, named for output "seconds"; there are "lr", "sec", "value"
	// map[seconds:[42 NaN]]
}

// A finished run goes to a file as a task.
func ExampleCSV_Write() {
	space := must(cmbo.NewSpace(cmbo.Float("x", 0, 1), cmbo.Categorical("kernel", "rbf", "poly")))
	opt := must(cmbo.New(space))
	for i, y := range []float64{0.25, 0.5} {
		if err := opt.Observe([]float64{float64(i) / 3, float64(i)}, y); err != nil {
			panic(err)
		}
	}
	if err := opt.Observe([]float64{1, 0}, 0.125, cmbo.WithNoise(1e-4)); err != nil {
		panic(err)
	}
	run := must(opt.Task("monday"))
	if err := (history.CSV{Space: space}).Write(os.Stdout, run); err != nil {
		panic(err)
	}
	if err := (history.JSONLines{Space: space}).Write(os.Stdout, run); err != nil {
		panic(err)
	}
	// Output:
	// task,x,kernel,value,noise_variance
	// monday,0,rbf,0.25,
	// monday,0.3333333333333333,poly,0.5,
	// monday,1,rbf,0.125,0.0001
	// {"task": "monday", "config": {"x": 0, "kernel": "rbf"}, "value": 0.25}
	// {"task": "monday", "config": {"x": 0.3333333333333333, "kernel": "poly"}, "value": 0.5}
	// {"task": "monday", "config": {"x": 1, "kernel": "rbf"}, "value": 0.125, "noise_variance": 0.0001}
}

// The space of an Optuna journal need not be declared.
func ExampleOptuna() {
	file := must(os.Open("testdata/optuna/optuna-5.0.0-basic.log"))
	defer file.Close()
	past, err := history.Optuna{}.Read(file)
	if err != nil {
		panic(err)
	}
	for _, s := range past.Studies {
		fmt.Printf("%s: %d complete, %d pruned, %d failed, %d running, %d waiting\n", s.Name, s.Complete, s.Pruned, s.Failed, s.Running, s.Waiting)
	}
	for _, p := range past.Space.Params() {
		lo, hi := p.Bounds()
		fmt.Println(p.Name(), p.Kind(), lo, hi, p.Step(), p.Choices())
	}
	fmt.Println(len(past.Tasks), "tasks, minimize:", past.Minimize)
	// Output:
	// svm on iris: 4 complete, 1 pruned, 2 failed, 1 running, 1 waiting
	// svm on digits: 4 complete, 1 pruned, 2 failed, 1 running, 1 waiting
	// lr logfloat 1e-05 0.1 0 []
	// momentum float 0 0.99 0 []
	// dropout float 0 0.5 0.1 []
	// depth int 1 12 1 []
	// batch logint 4 512 1 []
	// width int 16 256 16 []
	// kernel categorical 0 2 0 [rbf poly, 3 say "hi"]
	// penalty categorical 0 4 0 [null 1 2.5 1.0 1e-05]
	// bias bool 0 1 0 []
	// 2 tasks, minimize: true
}

// The trials of Katib's experiments, from a cluster.
func ExampleKatib() {
	file := must(os.Open("testdata/katib/trials.json")) // kubectl get trials --output json
	defer file.Close()
	space := must(cmbo.NewSpace(
		cmbo.LogFloat("lr", 1e-4, 1), cmbo.Int("depth", 1, 12), cmbo.Float("drop", 0, 0.5).WithStep(0.1),
		cmbo.Ordinal("units", 16, 32, 64), cmbo.Categorical("kind", "relu", "tanh"),
	))
	past, err := history.Katib{Space: space, Metric: "loss"}.Read(file)
	if err != nil {
		panic(err)
	}
	for _, t := range past.Tasks {
		fmt.Println(t.ID, len(t.X), "values,", len(t.Failed), "failures")
	}
	fmt.Println("minimize:", past.Minimize, "moved to a step:", past.Report.Snapped)
	// Output:
	// team-a/mnist 9 values, 5 failures
	// team-b/mnist 4 values, 0 failures
	// minimize: true moved to a step: 18
}

// A spreadsheet with names of its own, a decimal comma and rows that do not count.
func ExampleMapping() {
	file := strings.NewReader(`date;rate;layers;accuracy;outcome
3 May;0,01;2;91,5 %;ok
3 May;0,1;;88 %;ok
4 May;0,9;4;;out of memory
4 May;0,05;3;;interrupted
`)
	space := must(cmbo.NewSpace(cmbo.LogFloat("lr", 1e-4, 1), cmbo.Int("depth", 1, 8)))
	past, err := history.CSV{
		Space: space, Comma: ';', Value: "accuracy", TaskID: "may",
		Mapping: history.Mapping{
			Columns:  map[string]string{"lr": "rate", "depth": "layers"},
			Defaults: map[string]any{"depth": 3},
			Status:   "outcome", Done: []string{"ok"}, Failed: []string{"out of memory"},
			Parse:        func(column, text string) (string, error) { return strings.TrimSuffix(text, "%"), nil },
			DecimalComma: true,
		},
	}.Read(file)
	if err != nil {
		panic(err)
	}
	task := past.Tasks[0]
	fmt.Println(task.ID, task.X, task.Y, "failed:", task.Failed, "passed over:", past.Report.PassedOver)
	// Output:
	// may [[0.01 2] [0.1 3]] [91.5 88] failed: [[0.9 4]] passed over: 1
}
