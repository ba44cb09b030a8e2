package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/paper"
	"github.com/gocmbo/cmbo/internal/plot"
)

// learnMany runs Learn on ever more tasks, each number in a process of its own, so
// that the peak of its memory is its own, too.
func learnMany(o options) error {
	t := &plot.Table{Caption: "Learn", Columns: plot.Titled("tasks", "time", "processor time", "fits", "clustering",
		"prototypes", "processor time per task", "peak memory", "memory per task", "distances", "rounds")}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, s := range strings.Split(o.learn, ",") {
		k, err := strconv.Atoi(s)
		if err != nil || k < 1 {
			return fmt.Errorf("-learn: %q is no number of tasks", s)
		}
		if os.Getenv(learnChild) != "" {
			return learnOnce(k)
		}
		cmd := exec.Command(self, "-learn", s)
		cmd.Env = append(os.Environ(), learnChild+"=1")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return err
		}
		var row []plot.Cell
		for _, f := range strings.Split(strings.TrimSpace(string(out)), "\t") {
			row = append(row, plot.Str(f))
		}
		t.Rows = append(t.Rows, row)
		fmt.Fprintln(os.Stderr, strings.TrimSpace(string(out)))
	}
	fmt.Printf("%s; tasks of 50 observations in 6 dimensions, C=4, default variant\n\n", processor())
	if o.markdown {
		fmt.Println(markdown(t))
	} else {
		fmt.Println(t.Text())
	}
	return nil
}

// learnChild marks a process that does one number of tasks.
const learnChild = "CMBO_COMPARE_LEARN"

func learnOnce(k int) error {
	const n, d = 50, 6
	space, err := cmbo.UnitCube(d)
	if err != nil {
		return err
	}
	tasks := make([]cmbo.Task, k)
	for j := range tasks {
		x, y := history(j, n, d)
		tasks[j].ID, tasks[j].Y = fmt.Sprint("task-", j), y
		for i := range n {
			tasks[j].X = append(tasks[j].X, x[i*d:(i+1)*d])
		}
	}
	start, cpu := time.Now(), cpuSeconds()
	ends := map[string]time.Duration{}
	p, err := paper.Learn(context.Background(), space, tasks, paper.WithProgress(func(stage string, _, _ int) {
		ends[stage] = time.Since(start)
	}))
	if err != nil {
		return err
	}
	total, busy := time.Since(start).Seconds(), cpuSeconds()-cpu
	fits, cluster := ends["fit"].Seconds(), ends["cluster"].Seconds()
	peak := peakMemory()
	report := p.Report()
	fmt.Printf("%d\t%.3g s\t%.3g s\t%.3g s\t%.3g s\t%.3g s\t%.3g ms\t%.0f MB\t%.0f kB\t%d\t%d\n",
		k, total, busy, fits, cluster-fits, total-cluster,
		1e3*busy/float64(k), peak/1e6, peak/float64(k)/1e3, report.Distances, report.Rounds)
	return nil
}

// peakMemory is the largest resident size of this process so far, tasks and
// runtime included; 0 where the system does not tell.
func peakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb * 1024
		}
	}
	return 0
}
