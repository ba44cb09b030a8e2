package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

// The fuzz targets ask of each reader: no panic; an error that wraps a sentinel
// of cmbo; whatever is accepted, an optimiser over the space accepts, too; and,
// where there is a writer, it is read back bit for bit.

// mustBeSentinel checks that an error says what kind of trouble it is.
func mustBeSentinel(t *testing.T, err error) {
	t.Helper()
	for _, s := range []error{cmbo.ErrCorrupt, cmbo.ErrValue, cmbo.ErrOutOfSpace, cmbo.ErrTask, cmbo.ErrSpace, cmbo.ErrNoTasks, cmbo.ErrVersion} {
		if errors.Is(err, s) {
			return
		}
	}
	t.Fatalf("%v wraps no sentinel", err)
}

// sameUnderFail checks that the policies agree: what Skip takes without a bad
// row Fail takes, too, and what it reports first is what Fail fails with.
func sameUnderFail(t *testing.T, skipped *history.Result, failed *history.Result, err error) {
	t.Helper()
	if skipped.Report.Skipped == 0 {
		if err != nil || !sameBits(skipped.Tasks, failed.Tasks) {
			t.Fatalf("nothing was skipped, but: %v", err)
		}
		return
	}
	var e *history.RowError
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is no *RowError", err, err)
	}
	if !e.Skippable {
		t.Fatalf("%v does not name the policy that leaves such rows out", err)
	}
	same := *e
	same.Skippable = false
	if same != *skipped.Report.Errors[0] && same.Error() != skipped.Report.Errors[0].Error() {
		t.Fatalf("%v, but the first bad row is %v", err, skipped.Report.Errors[0])
	}
}

// mustStream checks that Tasks yields what Read returns, but for tasks that come apart
// where they may not.
func mustStream(t *testing.T, want *history.Result, tasks func(io.Reader, *history.Report) iter.Seq2[cmbo.Task, error], text []byte) {
	t.Helper()
	var report history.Report
	got, err := collect(tasks(bytes.NewReader(text), &report))
	if err != nil && errors.Is(err, cmbo.ErrTask) {
		return
	}
	if err != nil || !sameBits(got, want.Tasks) || report.Rows != want.Report.Rows || report.Accepted != want.Report.Accepted {
		t.Fatalf("%v, %d tasks, %+v", err, len(got), report)
	}
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"task,lr,depth,kernel,bias,value,noise_variance\na,0.1,3,rbf,true,1,\nb,1e-5,12,16,0,-1e150,0.25\n",
		"\ufeffvalue,bias,kernel,depth,lr\r\n1,1,\"poly\",1,1\r\n\r\nNaN,1,rbf,1,1\r\n",
		"lr,depth,kernel,bias,value\n\"0.1\n\",3,rbf,true,1\n0.1,3,\"rbf,true,1\n",
		"task,lr,depth,kernel,bias,value,cores\na,0.1,3,rbf,true,1,8\na,1,3,rbf,true,2,\nb,1e-5,12,16,0,1, many \n",
		"lr,lr\n", "\xff\xfe", "\"", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		form := history.CSV{Space: small(t), Policy: history.Skip, Mapping: history.Mapping{Context: map[string]string{"cores": ""}}, Limits: history.Limits{Line: 1 << 12, Rows: 1 << 12}}
		got, err := form.Read(bytes.NewReader(text))
		if err != nil {
			mustBeSentinel(t, err)
			return
		}
		mustBeLearnable(t, got)
		mustStream(t, got, form.Tasks, text)
		fail := form
		fail.Policy = history.Fail
		again, err := fail.Read(bytes.NewReader(text))
		sameUnderFail(t, got, again, err)
		var b bytes.Buffer
		if err := form.Write(&b, got.Tasks...); err != nil {
			if errors.Is(err, cmbo.ErrTask) {
				return // an ID that begins with a byte order mark
			}
			t.Fatal(err)
		}
		if again, err = fail.Read(&b); err != nil || !sameBits(again.Tasks, got.Tasks) {
			t.Fatalf("read back: %v", err)
		}
	})
}

func FuzzJSONLines(f *testing.F) {
	for _, s := range []string{
		`{"task":"a","config":{"lr":0.01,"depth":3,"kernel":"rbf","bias":true},"value":0.5}` + "\n" +
			`{"task":7,"config":{"lr":1,"depth":3e0,"kernel":16,"bias":0},"value":NaN,"noise_variance":1e-300}` + "\n",
		`{"lr":0.01,"depth":3,"kernel":"r\u0062f","bias":true,"value":-0,"noise_variance":0.1}` + "\r\n\r\n" + `{"value":1}`,
		`{"lr":0.01,"depth":3,"kernel":"rbf","bias":true,"value":1,"noise_variance":1,"cores":"8","curve":{"steps":[1,5],"values":[0.5,-1e9],"stopped":true}}` + "\n" +
			`{"lr":1,"depth":3,"kernel":"rbf","bias":true,"value":1}`,
		`{"config":{"lr":{"a":[{}]},"lr":1}}`, `{`, "[[[[", "\ufeff{}", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		form := history.JSONLines{Space: small(t), Policy: history.Skip, Mapping: history.Mapping{Context: map[string]string{"cores": ""}}, Curve: "curve", Limits: history.Limits{Line: 1 << 12, Rows: 1 << 12}}
		got, err := form.Read(bytes.NewReader(text))
		if err != nil {
			mustBeSentinel(t, err)
			return
		}
		mustBeLearnable(t, got)
		mustStream(t, got, form.Tasks, text)
		fail := form
		fail.Policy = history.Fail
		again, err := fail.Read(bytes.NewReader(text))
		sameUnderFail(t, got, again, err)
		var b bytes.Buffer
		if err := form.Write(&b, got.Tasks...); err != nil {
			if errors.Is(err, cmbo.ErrTask) {
				return // an ID with CR LF or a byte order mark
			}
			t.Fatal(err)
		}
		if again, err = fail.Read(&b); err != nil || !sameBits(again.Tasks, got.Tasks) {
			t.Fatalf("read back: %v", err)
		}
	})
}

// FuzzOptuna spends its time on shrinking inputs unless that is limited:
//
//	go test -run '^$' -fuzz FuzzOptuna -fuzztime 60s -fuzzminimizetime 10x ./cmbo/history
func FuzzOptuna(f *testing.F) {
	f.Add(fixture(f, journals(f, "torn")[0]), true) // larger ones are slow to shrink
	f.Add([]byte(study0+trial0+setParam(0, "lr", "0.25", unit)+setParam(0, "depth", "2", number("IntDistribution", `"low":1,"high":9`))+
		setParam(0, "kernel", "1", choices(`"rbf", 16, null`))+setParam(0, "bias", "0", choices(`true, false`))+tell(0, "-1.5")), false)
	f.Add([]byte(study0+`{"op_code":4,"study_id":0,"state":2,"distributions":{"lr":`+quote(unit)+`},"params":{"lr":0.5},"intermediate_values":{"3":NaN,"-1":2}}`+"\n"), true)
	f.Add([]byte(study0+trial0+setParam(0, "lr", "0.25", unit)+`{"op_code":9,"trial_id":0,"system_attr":{"constraints":[Infinity]}}`+"\n"+tell(0, "-1.5")), true)
	f.Fuzz(func(t *testing.T, text []byte, pruned bool) {
		for _, space := range []*cmbo.Space{nil, small(t)} {
			o := history.Optuna{Space: space, Policy: history.Skip, Pruned: pruned, Intermediate: pruned, Direction: history.Minimize, Limits: history.Limits{Line: 1 << 12}}
			if pruned && bytes.Contains(text, []byte("constraints")) {
				o.Constraints = []string{"size"}
			}
			got, err := o.Read(bytes.NewReader(text))
			if err != nil {
				mustBeSentinel(t, err)
				continue
			}
			mustBeLearnable(t, &got.Result)
			for _, s := range got.Studies {
				if s.Complete < 0 || s.Pruned < 0 {
					t.Fatalf("%+v", s)
				}
			}
			o.Policy = history.Fail
			again, err := o.Read(bytes.NewReader(text))
			if err != nil {
				sameUnderFail(t, &got.Result, nil, err)
			} else {
				sameUnderFail(t, &got.Result, &again.Result, nil)
			}
		}
	})
}

func FuzzHPOB(f *testing.F) {
	f.Add([]byte(hpob), "4796")
	f.Add([]byte(`{"s": {"t": {"X": [[0.5], [null], 3, [0.5, 1], ["a"], []], "y": [1e160, 1, 2, NaN, [1, 2], -Infinity, {"a": [1]}], "z": {"\\u00e4": [true, []]}}}}`), "")
	f.Add([]byte{0x1f, 0x8b, 8}, "")
	for _, text := range []string{`{"a": [1,]}`, `{"a": 01}`, `{"a" 1}`, `{"a": tru}`, `{"a": "\q"}`, "{\"a\": \"\n\"}", `{} {}`, "{}\x00", `[]`, ` {"a": [{"\ud83d": "\""}, -0.5e+7, null, {}, []]} `} {
		f.Add([]byte(text), "")
	}
	f.Add([]byte(`{"s": {"t": {"X": [[0.5], [1]], "Y": [[1, null], [2, 1e160]], "outputs": ["v", "w"]}}}`), "s")
	f.Fuzz(func(t *testing.T, text []byte, space string) {
		// But for packed texts, marks and Python's numbers the spaces of a file can be listed if package json takes it for an
		// object.
		_, err := history.HPOB{}.Names(bytes.NewReader(text))
		object := json.Valid(text) && bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
		other := bytes.HasPrefix(text, []byte{0x1f, 0x8b}) || bytes.HasPrefix(text, []byte("\ufeff")) ||
			bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Infinity"))
		if (err == nil) != object && !other && !errors.Is(err, history.ErrLimit) {
			t.Errorf("%q: %v; an object of JSON: %t", text, err, object)
		}
		form := history.HPOB{Name: space, Policy: history.Skip, Limits: history.Limits{Bytes: 1 << 16, String: 100, Columns: 50}}
		if bytes.Contains(text, []byte(`"outputs"`)) {
			form.Value = "v"
		}
		got, err := form.Read(bytes.NewReader(text))
		if err != nil {
			mustBeSentinel(t, err)
			return
		}
		mustBeLearnable(t, &got.Result)
		form.Policy = history.Fail
		again, err := form.Read(bytes.NewReader(text))
		if err != nil {
			sameUnderFail(t, &got.Result, nil, err)
		} else {
			sameUnderFail(t, &got.Result, &again.Result, nil)
		}
	})
}
