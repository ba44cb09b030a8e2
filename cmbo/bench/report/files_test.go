package report

import (
	"encoding/csv"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/bench"
)

func htmlOf(t *testing.T, s *Summary) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, s.WriteHTML(&b))
	return b.String()
}

// everything returns all that is written of a Summary, by file name.
func everything(t *testing.T, s *Summary) map[string]string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, s.WriteCSV(filepath.Join(dir, "csv")))
	require.NoError(t, s.WriteMarkdown(filepath.Join(dir, "markdown")))
	out := map[string]string{"html": htmlOf(t, s)}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[filepath.Base(path)] = string(b)
		return err
	}))
	return out
}

// The same records in another order give the same bytes, and are not changed.
func TestOrderDoesNotMatter(t *testing.T) {
	rs, ts := small().make(2)
	a, err := summarise(rs, ts, 300)
	require.NoError(t, err)
	want := everything(t, a)
	for seed := range uint64(3) {
		rr, tt := shuffled(rs, seed), shuffled(ts, seed)
		keep := shuffled(rs, seed)
		b, err := summarise(rr, tt, 300)
		require.NoError(t, err)
		assert.Equal(t, keep, rr)
		got := everything(t, b)
		require.Len(t, got, len(want))
		for name := range want {
			assert.True(t, want[name] == got[name], name)
		}
	}
}

func TestHTML(t *testing.T) {
	rs, ts := small().make(2)
	for i := range rs {
		if rs[i].Space == "a" {
			rs[i].Space = `<a> & "b"`
		}
	}
	s, err := summarise(rs, ts, 100)
	require.NoError(t, err)
	s.Title, s.Notes = "Title <here>", []string{"Made by `go run .`"}
	html := htmlOf(t, s)
	wellFormed(t, html)
	for _, want := range []string{"Title &lt;here&gt;", "<code>go run .</code>", "&lt;a&gt; &amp;", "What was compared", "Calibration", "Wall time", "GlobalCen"} {
		assert.Contains(t, html, want)
	}
	assert.NotRegexp(t, regexp.MustCompile(`(src|href)="[^#]`), html, "nothing from elsewhere")
	assert.NotContains(t, html, "NaN")

	s.Times = nil
	html = htmlOf(t, s)
	wellFormed(t, html)
	assert.NotContains(t, html, "Wall time")
	var b strings.Builder
	require.NoError(t, s.WriteTimesHTML(&b))
	wellFormed(t, b.String())
}

// wellFormed reads a page as XML, of which it is a subset but for the doctype.
func wellFormed(t *testing.T, html string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(html))
	d.Entity = xml.HTMLEntity
	for {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
	}
}

// One acquisition function, one space and no extras: the quick protocol.
func TestSmallestReport(t *testing.T) {
	d := small()
	d.spaces, d.acquisitions = d.spaces[:1], []string{"EI"}
	rs, _ := d.make(1)
	s, err := summarise(rs, nil, 100)
	require.NoError(t, err)
	require.Len(t, s.Comparisons, 1)
	files := everything(t, s)
	wellFormed(t, files["html"])
	assert.NotContains(t, files, "times.csv")
	assert.Contains(t, files["results.md"], "](best-of-each-kind-a.svg)")
	assert.Contains(t, files["best-of-each-kind-a.svg"], "average rank")
}

// The short form of an experiment as large as the paper's can be kept beside the
// code, and shows the files that it wrote.
func TestMarkdownIsSmall(t *testing.T) {
	d := large()
	d.spaces = append(d.spaces, "one more", "and one more", "and the last one")
	d.repeats, d.splits, d.targets = 1, 2, 4
	rs, ts := d.make(1)
	s, err := summarise(rs, ts, 100)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, s.WriteMarkdown(dir))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var total int64
	shown, err := os.ReadFile(filepath.Join(dir, "results.md"))
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		total += info.Size()
		assert.Less(t, info.Size(), int64(200_000), e.Name())
		if strings.HasSuffix(e.Name(), ".svg") {
			assert.Contains(t, string(shown), "]("+e.Name()+")")
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			wellFormed(t, string(b))
		}
	}
	assert.Less(t, total, int64(400_000))
	assert.Equal(t, strings.Count(string(shown), ".svg)"), len(entries)-1)
}

// Every CSV file has a heading and rows of its width, and the numbers are those
// of the Summary.
func TestCSV(t *testing.T) {
	rs, ts := small().make(2)
	s, err := summarise(rs, ts, 100)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, s.WriteCSV(dir))
	rows := func(name string) [][]string {
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		defer f.Close()
		all, err := csv.NewReader(f).ReadAll() // refuses ragged rows
		require.NoError(t, err)
		return all
	}
	methods := 0
	for _, c := range s.Comparisons {
		methods += len(c.Results)
	}
	curves := rows("curves.csv")
	assert.Len(t, curves, 1+methods*(s.Budget+1))
	assert.Equal(t, []string{"(all)", s.Comparisons[0].Acquisition, s.Comparisons[0].Results[0].Method, "0", num(s.Comparisons[0].Results[0].Regret[0])}, curves[1][:5])
	assert.Len(t, rows("methods.csv"), 1+methods)
	assert.Len(t, rows("profiles.csv"), 1+methods*len(s.Thresholds))
	assert.Len(t, rows("times.csv"), 1+len(s.Times))
	pairs := 0
	for _, c := range s.Comparisons {
		pairs += 2 * len(c.Pairs)
	}
	assert.Len(t, rows("pairs.csv"), 1+pairs)
	assert.Greater(t, len(rows("runs.csv")), 10)
}

// Spaces whose names look alike to a file system have files of their own.
func TestFileNames(t *testing.T) {
	d := &markdown{names: map[string]bool{}}
	assert.Equal(t, "regret-all-a-b-4.2.svg", d.fileName("Regret, all: a/b (4.2)"))
	assert.Equal(t, "regret-all-a-b-4.2-2.svg", d.fileName("regret all a b 4.2"))
	assert.Equal(t, "regret-all-a-b-4.2-3.svg", d.fileName("../regret-all a_b 4.2"))
}

func TestWritersReportErrors(t *testing.T) {
	s, err := summarise([]bench.Record{rec("A", "t", 0, 0.5)}, nil, 100)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	assert.Error(t, s.WriteCSV(file))
	assert.Error(t, s.WriteMarkdown(file))
	r, w := io.Pipe()
	require.NoError(t, r.Close())
	assert.Error(t, s.WriteHTML(w))
}
