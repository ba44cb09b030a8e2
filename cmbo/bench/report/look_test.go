package report

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/bench"
)

var (
	lookOut  = flag.String("out", "", "write the documents of made-up records into this folder, to be looked at")
	lookFrom = flag.String("from", "", "take the records of this experiment's folder instead")
)

// TestLook writes every document of a large experiment where a person can look
// at it.
func TestLook(t *testing.T) {
	if *lookOut == "" {
		t.Skip("no -out")
	}
	rs := large().make(1)
	if *lookFrom != "" {
		var err error
		if rs, err = bench.ReadRecords(*lookFrom); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Analyse(rs)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(*lookOut, 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(*lookOut, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WriteHTML(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteCSV(filepath.Join(*lookOut, "csv")); err != nil {
		t.Fatal(err)
	}
}
