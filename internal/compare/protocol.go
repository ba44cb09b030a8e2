package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// A request is one line of JSON to a worker, a response one line back. The verbs
// are
//
//	forms    the names of the forms the worker has of a kind of work
//	prepare  read the inputs in Dir, make Form of Kind ready, run it once; the
//	         response has the answer and what one run took
//	run      run it Reps times and tell what one took
//	drop     forget it
type request struct {
	Verb string `json:"verb"`
	Kind string `json:"kind,omitempty"`
	Form string `json:"form,omitempty"`
	Dir  string `json:"dir,omitempty"`
	Reps int    `json:"reps,omitempty"`
}

type response struct {
	Error  string    `json:"error,omitempty"`
	Forms  []string  `json:"forms,omitempty"`
	Answer []float64 `json:"answer,omitempty"`
	// Seconds is the time of one run; Extra holds what else a form measures.
	Seconds float64            `json:"seconds,omitempty"`
	Extra   map[string]float64 `json:"extra,omitempty"`
	Note    string             `json:"note,omitempty"`
}

// inputs are what all contenders of a row read: arrays by name, in files of
// little-endian float64, row-major, and single numbers.
type inputs struct {
	Arrays map[string][]int   `json:"arrays"` // shapes
	Params map[string]float64 `json:"params"`

	data map[string][]float64
}

func newInputs() *inputs {
	return &inputs{Arrays: map[string][]int{}, Params: map[string]float64{}, data: map[string][]float64{}}
}

func (in *inputs) add(name string, data []float64, shape ...int) {
	n := 1
	for _, s := range shape {
		n *= s
	}
	if n != len(data) {
		panic(fmt.Sprintf("input %s: %d numbers for the shape %v", name, len(data), shape))
	}
	in.Arrays[name], in.data[name] = shape, data
}

func (in *inputs) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, data := range in.data {
		raw := make([]byte, 0, 8*len(data))
		for _, v := range data {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		}
		if err := os.WriteFile(filepath.Join(dir, name+".f64"), raw, 0o644); err != nil {
			return err
		}
	}
	index, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "inputs.json"), index, 0o644)
}

func readInputs(dir string) (*inputs, error) {
	in := newInputs()
	index, err := os.ReadFile(filepath.Join(dir, "inputs.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(index, in); err != nil {
		return nil, err
	}
	for name := range in.Arrays {
		raw, err := os.ReadFile(filepath.Join(dir, name+".f64"))
		if err != nil {
			return nil, err
		}
		data := make([]float64, len(raw)/8)
		for i := range data {
			data[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
		}
		in.data[name] = data
	}
	return in, nil
}

// serve is a Go worker: it answers requests until its input ends.
func serve(r io.Reader, w io.Writer) error {
	prepared := map[string]*task{}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<24)
	out := json.NewEncoder(w)
	for scan.Scan() {
		var q request
		if err := json.Unmarshal(scan.Bytes(), &q); err != nil {
			return err
		}
		if err := out.Encode(handle(q, prepared)); err != nil {
			return err
		}
	}
	return scan.Err()
}

func handle(q request, prepared map[string]*task) (p response) {
	// A contender that panics loses its row, not the run.
	defer func() {
		if e := recover(); e != nil {
			p = response{Error: fmt.Sprint("panic: ", e)}
		}
	}()
	key := q.Kind + " " + q.Form
	switch q.Verb {
	case "forms":
		for _, f := range forms[q.Kind] {
			p.Forms = append(p.Forms, f.name)
		}
	case "prepare":
		in, err := readInputs(q.Dir)
		if err != nil {
			return response{Error: err.Error()}
		}
		for _, f := range forms[q.Kind] {
			if f.name == q.Form {
				t := f.make(in)
				p.Seconds = t.time(1)
				p.Answer = t.answer()
				for i := 0; i < 2 && p.Seconds < 0.3; i++ {
					p.Seconds = min(p.Seconds, t.time(1))
				}
				prepared[key] = t
				return p
			}
		}
		p.Error = "no form " + key
	case "run":
		p.Seconds = prepared[key].time(q.Reps)
		p.Extra = prepared[key].extra
	case "drop":
		clear(prepared)
	}
	return p
}
