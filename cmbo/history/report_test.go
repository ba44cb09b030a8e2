package history_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

func TestRowErrorText(t *testing.T) {
	for want, e := range map[string]history.RowError{
		`history: no rows`: {Reason: "no rows"},
		`history: line 3: task "a": "lr" is "x": not a number`: {Line: 3, Task: "a", Field: "lr", Value: "x", Reason: "not a number"},
		`history: line 3: "lr": missing`:                       {Line: 3, Field: "lr", Reason: "missing"},
		`history: "x": odd`:                                    {Value: "x", Reason: "odd"},
	} {
		if e.Error() != want {
			t.Errorf("%s, want %s", e.Error(), want)
		}
	}
}

func TestReportText(t *testing.T) {
	r := history.Report{Rows: 6, Accepted: 5, Failed: 2}
	if got, want := fmt.Sprint(r), "5 rows, 2 of them failures"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.Skipped = 2 // as one has it who adds up reports
	if got, want := fmt.Sprint(r), "5 rows, 2 of them failures; 2 bad"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.PassedOver, r.Skipped, r.Errors = 3, 1, []*history.RowError{{Line: 3, Reason: "missing"}}
	if got, want := fmt.Sprint(r), "5 rows, 2 of them failures; 3 passed over; 1 bad, the first: history: line 3: missing"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNames(t *testing.T) {
	got := fmt.Sprint(history.Fail, history.Skip, history.Policy(7), history.Unset, history.Minimize, history.Maximize, history.Direction(9))
	if want := "fail skip Policy(7) unset minimize maximize Direction(9)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestErrorsWrapDataError shows that the refusal of a space keeps its numbers.
func TestErrorsWrapDataError(t *testing.T) {
	_, err := history.CSV{Space: small(t)}.Read(strings.NewReader("lr,depth,kernel,bias,value\n0.1,13,rbf,true,1\n"))
	var de *cmbo.DataError
	if !errors.As(err, &de) || de.Name != "depth" || de.Value != 13 {
		t.Errorf("%v", err)
	}
}

// TestLongLists cuts lists of names in messages.
func TestLongLists(t *testing.T) {
	names := strings.Split("a b c d e f g h i j", " ")
	s := spaceOf(t, cmbo.Categorical("c", names...))
	_, err := history.CSV{Space: s}.Read(strings.NewReader("c,value\nk,1\n"))
	mustBeRow(t, err, 2, "c", "k", cmbo.ErrOutOfSpace, `not one of "a", "b", "c", "d", "e", "f", "g", "h", and 2 more`)
	_, err = history.CSV{Space: s}.Read(strings.NewReader(strings.Join(names, ",") + "\n"))
	mustBeRow(t, err, 1, "", "", cmbo.ErrCorrupt, `lacks "value"; it has "a", "b", "c", "d", "e", "f", "g", "h", and 2 more`)
}
