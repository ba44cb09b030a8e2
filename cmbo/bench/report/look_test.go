package report

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/stretchr/testify/require"
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
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(*lookOut, 0o777))
	f, err := os.Create(filepath.Join(*lookOut, "report.html"))
	require.NoError(t, err)
	require.NoError(t, s.WriteHTML(f))
	require.NoError(t, f.Close())
	require.NoError(t, s.WriteCSV(filepath.Join(*lookOut, "csv")))
}
