package runlog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/internal/each"
)

// snapshotVersion is the version of snapshots. A snapshot is one line of JSON,
//
//	{"cmbo":"snapshot","version":2,"sha256":"<of state>","state":{...}}
//
// whose state holds the space, the options by name, the digest of the prior and the log of events. No other version is read.
const snapshotVersion = 2

type snapshotFile struct {
	Cmbo    string          `json:"cmbo"`
	Version int             `json:"version"`
	SHA256  string          `json:"sha256"`
	State   json.RawMessage `json:"state"`
}

// SealState puts the envelope around a state.
func SealState(state []byte) []byte {
	return fmt.Appendf(nil, `{"cmbo":"snapshot","version":%d,"sha256":"%x","state":%s}`+"\n",
		snapshotVersion, sha256.Sum256(state), state)
}

// OpenState returns the state in a snapshot: nothing but what SealState writes is accepted, to the byte.
func OpenState(b []byte) (state []byte, err error) {
	var f snapshotFile
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&f); err != nil {
		return nil, fmt.Errorf("%w: not a snapshot, or a truncated one: %w", codec.ErrCorrupt, err)
	}
	if f.Cmbo != "snapshot" {
		return nil, fmt.Errorf("%w: not a snapshot", codec.ErrCorrupt)
	}
	if f.Version != snapshotVersion {
		return nil, fmt.Errorf("%w: snapshot of version %d, this release reads %d", codec.ErrVersion, f.Version, snapshotVersion)
	}
	if !bytes.Equal(b, SealState(f.State)) {
		return nil, fmt.Errorf("%w: the checksum of the snapshot does not match", codec.ErrCorrupt)
	}
	return f.State, nil
}

// A journal is a snapshot, one line, and a line of
//
//	{"sum":"<16 hexadecimal digits>","entry":{...}}
//
// for each event since. A line's sum covers the sum of the line before, so that no line can be changed or
// exchanged, and none but the last ones can be lost, unnoticed. journalEntry is one such line.
type journalEntry struct {
	Sum   string          `json:"sum"`
	Entry json.RawMessage `json:"entry"`
}

// Link returns the sum of an entry that follows the line of sum last.
func Link(last string, entry []byte) string {
	h := sha256.New()
	h.Write([]byte(last))
	h.Write(entry)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// SealEntry returns the line of an entry.
func SealEntry(sum string, entry []byte) []byte {
	return fmt.Appendf(nil, `{"sum":"%s","entry":%s}`+"\n", sum, entry)
}

// Beginnings of a journal's lines; 0 stands for a hexadecimal digit.
const (
	SnapshotHead = `{"cmbo":"snapshot","version":`
	entryHead    = `{"sum":"0000000000000000","entry":{"event":`
)

// Torn reports whether b can be what is left of a line whose writing was interrupted: its
// beginning, without its end of line, and perhaps zeros behind it, with which file systems fill a
// block that was not written. The end of line may be the first byte of such a block.
func Torn(b []byte, head string) bool {
	line := bytes.TrimRight(b, "\x00")
	for i, c := range line[:min(len(line), len(head))] {
		if c != head[i] && !(head[i] == '0' && strings.IndexByte("123456789abcdef", c) >= 0) {
			return false
		}
	}
	var f json.RawMessage
	d := json.NewDecoder(bytes.NewReader(line))
	if err := d.Decode(&f); err != nil {
		return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
	}
	return int(d.InputOffset()) == len(line)
}

// openEntry returns the entry of the line that follows the line of sum last, and its sum.
func openEntry(last string, line []byte) (entry []byte, sum string, err error) {
	var f journalEntry
	if err := json.Unmarshal(line, &f); err != nil {
		return nil, "", err
	}
	sum = Link(last, f.Entry)
	if !bytes.Equal(line, SealEntry(sum, f.Entry)) {
		return nil, "", fmt.Errorf("the sum does not match")
	}
	return f.Entry, sum, nil
}

// Mark names a line of a journal by its number and its sum.
type Mark struct {
	Lines int
	Sum   string
}

// RestoreLines applies the lines of the journal b after the first, which ends at first. It returns where the last whole line
// ends, and its mark, and fails unless the journal has the line that want names, if it names one. A last line does not count
// if it has zeros, which JSON has not, before it is whole: a loss of power before a sync leaves them where later blocks were
// written first. With lines behind it, which may have been acknowledged, such a line is an error that says at which byte it
// begins.
func (h *Log) RestoreLines(b []byte, first int, want Mark, c Checks) (valid int64, last Mark, err error) {
	last = Mark{1, Link("", b[:first])}
	rest := b[first:]
	for {
		if want.Lines == last.Lines && want.Sum != last.Sum {
			return 0, last, fmt.Errorf("%w: line %d of the journal has the sum %s, its mark %s",
				codec.ErrCorrupt, want.Lines, last.Sum, want.Sum)
		}
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 || bytes.IndexByte(rest[:n], 0) >= 0 && n == len(bytes.TrimRight(rest, "\x00")) {
			break
		}
		if last.Sum, err = h.restoreLine(rest[:n], last.Sum, c); err != nil {
			return 0, last, codec.Corrupt(fmt.Errorf("line %d of the journal, at byte %d, up to which it is whole: %w",
				last.Lines+1, len(b)-len(rest), err))
		}
		last.Lines++
		rest = rest[n:]
	}
	valid = int64(len(b) - len(rest))
	if want.Lines > last.Lines {
		return 0, last, fmt.Errorf("%w: the journal ends after line %d, and the mark is that of line %d",
			codec.ErrCorrupt, last.Lines, want.Lines)
	}
	whole := bytes.TrimRight(rest, "\x00")
	begin, _, hollow := bytes.Cut(whole, []byte{0})
	_, _, notWhole := openEntry(last.Sum, slices.Concat(whole, []byte("\n")))
	if !Torn(begin, entryHead) || json.Valid(begin) && (hollow || notWhole != nil) {
		return 0, last, fmt.Errorf("%w: line %d of the journal, at byte %d, has no end and is not the beginning of a "+
			"line either", codec.ErrCorrupt, last.Lines+1, valid)
	}
	return valid, last, nil
}

func (h *Log) restoreLine(line []byte, last string, c Checks) (sum string, err error) {
	entry, sum, err := openEntry(last, line)
	if err != nil {
		return "", err
	}
	var e Stored
	if err := DecodeJSON(entry, &e); err != nil {
		return "", err
	}
	return sum, h.Restore(e, c)
}

// DecodeJSON reads what was stored under a sum that is right: a field that this release does
// not know then comes from another one, which is [codec.ErrVersion].
func DecodeJSON[T any](b []byte, v *T) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err != nil && json.Unmarshal(b, new(T)) == nil {
		return fmt.Errorf("%w: %w", codec.ErrVersion, err)
	}
	return err
}

// Difference says where two values differ as JSON objects, the first place in alphabetical
// order, and what was there and is now, of long texts what is around the place where they
// part: "" if they are equal. An element of a list is called by its name, if it has one.
func Difference(was, now any) string {
	text := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		if err != nil {
			b, _ = json.Marshal(err.Error()) // every string has a JSON form
		}
		return b
	}
	return strings.TrimPrefix(difference("", text(was), text(now)), ".")
}

// difference compares two JSON texts, of which a nil one stands for what is not there.
func difference(place string, was, now json.RawMessage) string {
	if bytes.Equal(was, now) {
		return ""
	}
	var then, given map[string]json.RawMessage
	if json.Unmarshal(was, &then) == nil && json.Unmarshal(now, &given) == nil && then != nil && given != nil {
		names := slices.AppendSeq(slices.Collect(maps.Keys(given)), maps.Keys(then))
		slices.Sort(names)
		for _, name := range names {
			if d := difference(place+"."+name, then[name], given[name]); d != "" {
				return d
			}
		}
		return ""
	}
	var list, other []json.RawMessage
	if json.Unmarshal(was, &list) == nil && json.Unmarshal(now, &other) == nil && list != nil && other != nil {
		n := max(len(list), len(other))
		list, other = append(list, make([]json.RawMessage, n-len(list))...), append(other, make([]json.RawMessage, n-len(other))...)
		was, is := elementNames(list), elementNames(other)
		for i := range n {
			at, then, given := fmt.Sprintf("%s[%d]", place, i), list[i], other[i]
			lost, added := !slices.Contains(is, was[i]), !slices.Contains(was, is[i])
			switch name := cmp.Or(was[i], is[i]); {
			case name == "":
			case was[i] == is[i]:
				at = fmt.Sprintf("%s %q", place, name)
			case added && (!lost || was[i] == ""):
				at, then = fmt.Sprintf("%s %q", place, is[i]), nil
			case lost && (!added || is[i] == ""):
				at, given = fmt.Sprintf("%s %q", place, name), nil
			default: // another name, or another order
				return fmt.Sprintf("%s %q.name %q, not %q", place, name, was[i], is[i])
			}
			if d := difference(at, then, given); d != "" {
				return d
			}
		}
		return ""
	}
	before, after := cmp.Or(string(was), "none"), cmp.Or(string(now), "none")
	return fmt.Sprintf("%s %s, not %s", place, around(before, after), around(after, before))
}

// elementNames are those of a list's elements, "" of one that has none.
func elementNames(list []json.RawMessage) []string {
	return each.Of(list, func(b json.RawMessage) string {
		var element struct{ Name string }
		_ = json.Unmarshal(b, &element)
		return element.Name
	})
}

// around returns a text, a long one from shortly before the place where another parts.
func around(a, b string) string {
	parts := 0
	for parts < min(len(a), len(b)) && a[parts] == b[parts] {
		parts++
	}
	if len(a) <= 200 || parts < 100 {
		return fmt.Sprintf("%.200s", a)
	}
	return fmt.Sprintf("...%.200s", a[parts-100:])
}
