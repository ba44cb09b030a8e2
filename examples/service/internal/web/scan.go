package web

import (
	"encoding/json"
	"slices"

	"github.com/gocmbo/cmbo/examples/service/internal/study"
)

// frame is an object or a list that the scan is in.
type frame struct {
	object bool
	free   bool // its keys are names that the user gave
	key    bool // the next string is a key
	last   string
	few    []string            // keys met, up to some number
	many   map[string]struct{} // all keys met, if there are more
}

// freeKeys are the fields whose keys, where they are objects, are names that the user gave:
// of parameters, their choices, outputs and descriptors of tasks.
var freeKeys = []string{"config", "defaults", "columns", "renamed", "choices", "outputs", "failed_outputs", "context"}

// meet notes a key and reports whether it was there before.
func (f *frame) meet(key string) bool {
	const some = 16
	f.last = key
	if f.many == nil {
		if slices.Contains(f.few, key) {
			return true
		}
		if f.few = append(f.few, key); len(f.few) > some {
			f.many = make(map[string]struct{})
			for _, k := range f.few {
				f.many[k] = struct{}{}
			}
		}
		return false
	}
	_, again := f.many[key]
	f.many[key] = struct{}{}
	return again
}

// scan looks over a body before it is decoded. It refuses what encoding/json
// lets pass: a key that an object has twice, of which the last counts, and one
// that differs from a field's name in its case. And it bounds what the body may
// become: an empty object is two bytes, and a struct once it is decoded.
//
// The keys of the service are ASCII and lower case, so any other key that would
// match one of them differs in its case; those in freeKeys are free.
func scan(b []byte, nodes, values int) error {
	if !json.Valid(b) {
		return json.Unmarshal(b, new(any)) // which tells what is wrong, before it makes anything
	}
	var frames []*frame
	var top *frame
	for i := 0; i < len(b); i++ {
		switch c := b[i]; c {
		case '"':
			end := i + 1
			for b[end] != '"' {
				if b[end] == '\\' {
					end++
				}
				end++
			}
			if top != nil && top.key {
				top.key = false
				if err := top.take(b[i : end+1]); err != nil {
					return err
				}
			}
			i = end
		case '{', '[':
			if nodes--; nodes < 0 {
				return tooMuch("objects and lists of a body")
			}
			f := &frame{object: c == '{', key: c == '{'}
			if top != nil {
				f.free = top.free || top.object && f.object && slices.Contains(freeKeys, top.last)
			}
			frames = append(frames, f)
			top = f
		case '}', ']':
			frames = frames[:len(frames)-1]
			top = nil
			if len(frames) > 0 {
				top = frames[len(frames)-1]
			}
		case ',':
			if values--; values < 0 {
				return tooMuch("values of a body")
			}
			top.key = top.object
		}
	}
	return nil
}

// take checks a key, given with its quotes.
func (f *frame) take(quoted []byte) error {
	var key string
	if err := json.Unmarshal(quoted, &key); err != nil {
		return err
	}
	if f.meet(key) {
		return badField("json", key, "the key %q is there twice", key)
	}
	if f.free {
		return nil
	}
	for _, c := range []byte(key) {
		if c >= 'A' && c <= 'Z' || c >= 0x80 {
			return badRequest("json", "the body is not the JSON expected: unknown field %q", key)
		}
	}
	return nil
}

func tooMuch(what string) error { return badRequest("limit", "there are too many %s", what) }

// shape returns how many objects and lists, and how many values in all, a body
// may have that is within the limits.
func shape(l *study.Limits) (nodes, values int) {
	rows := l.TotalRows + l.Candidates
	nodes = rows + 8*(l.Tasks+l.Dims) + 2*l.Tasks*l.Dims + l.Points + 1000
	return nodes, rows*(l.Dims+3) + nodes
}
