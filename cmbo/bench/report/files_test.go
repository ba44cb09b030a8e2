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
	require.NoError(t, s.WriteCSV(dir))
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
	rs := small().make(2)
	a, err := summarise(rs, 300)
	require.NoError(t, err)
	want := everything(t, a)
	for seed := range uint64(3) {
		rr := shuffled(rs, seed)
		keep := shuffled(rs, seed)
		b, err := summarise(rr, 300)
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
	rs := small().make(2)
	for i := range rs {
		if rs[i].Space == "a" {
			rs[i].Space = `<a> & "b"`
		}
	}
	s, err := summarise(rs, 100)
	require.NoError(t, err)
	s.Title, s.Notes = "Title <here>", []string{"Made by `go run .`"}
	html := htmlOf(t, s)
	wellFormed(t, html)
	for _, want := range []string{"Title &lt;here&gt;", "<code>go run .</code>", "&lt;a&gt; &amp;", "What was compared", "predictions of the queried values", "GlobalCen"} {
		assert.Contains(t, html, want)
	}
	assert.NotRegexp(t, regexp.MustCompile(`(src|href)="[^#]`), html, "nothing from elsewhere")
	assert.NotContains(t, html, "NaN")
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
	rs := d.make(1)
	s, err := summarise(rs, 100)
	require.NoError(t, err)
	require.Len(t, s.Comparisons, 1)
	files := everything(t, s)
	wellFormed(t, files["html"])
	assert.Contains(t, files["html"], "average rank")
}

// A method is drawn alike in all figures, and unlike every other one.
func TestMethodsLookAlikeInAllFigures(t *testing.T) {
	d := large()
	d.splits, d.repeats, d.acquisitions = 2, 1, d.acquisitions[:2]
	s, err := summarise(d.make(1), 100)
	require.NoError(t, err)
	method, look, curves := map[string]string{}, map[string]string{}, 0
	for _, m := range regexp.MustCompile(`<g><title>([^<]*)</title>\s*<path class="line (s-\d d\d)`).FindAllStringSubmatch(htmlOf(t, s), -1) {
		if old, seen := look[m[1]]; seen {
			assert.Equal(t, old, m[2], m[1])
		}
		if old, seen := method[m[2]]; seen {
			assert.Equal(t, old, m[1], m[2])
		}
		look[m[1]], method[m[2]] = m[2], m[1]
		curves++
	}
	assert.Greater(t, len(look), 8, "the same methods in all figures tell nothing")
	assert.Greater(t, curves, 5*len(look))
}

// Every CSV file has a heading and rows of its width, and the numbers are those
// of the Summary.
func TestCSV(t *testing.T) {
	rs := small().make(2)
	s, err := summarise(rs, 100)
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
}

func TestWritersReportErrors(t *testing.T) {
	s, err := summarise([]bench.Record{rec("A", "t", 0, 0.5)}, 100)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	assert.Error(t, s.WriteCSV(file))
	r, w := io.Pipe()
	require.NoError(t, r.Close())
	assert.Error(t, s.WriteHTML(w))
}
