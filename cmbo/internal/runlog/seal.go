package runlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
)

// SnapshotVersion is the newest version of snapshots. A snapshot is one line of JSON,
//
//	{"cmbo":"snapshot","version":2,"sha256":"<of state>","state":{...}}
//
// whose state holds the space, the options by name, the digest of the prior and
// the log of events. A reader takes every version up to its own.
const SnapshotVersion = 2

type snapshotFile struct {
	Cmbo    string          `json:"cmbo"`
	Version int             `json:"version"`
	SHA256  string          `json:"sha256"`
	State   json.RawMessage `json:"state"`
}

// SealState puts the envelope around a state.
func SealState(version int, state []byte) []byte {
	sum := sha256.Sum256(state)
	return fmt.Appendf(nil, `{"cmbo":"snapshot","version":%d,"sha256":"%s","state":%s}`+"\n", version, hex.EncodeToString(sum[:]), state)
}

// OpenState returns the state in a snapshot and the version it was written in: nothing
// but what SealState writes is accepted, to the byte.
func OpenState(b []byte) (state []byte, version int, err error) {
	var f snapshotFile
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&f); err != nil {
		return nil, 0, fmt.Errorf("%w: not a snapshot, or a truncated one: %w", codec.ErrCorrupt, err)
	}
	if f.Cmbo != "snapshot" {
		return nil, 0, fmt.Errorf("%w: not a snapshot", codec.ErrCorrupt)
	}
	if f.Version > SnapshotVersion {
		return nil, 0, fmt.Errorf("%w: snapshot of version %d, this release reads up to %d", codec.ErrVersion, f.Version, SnapshotVersion)
	}
	if f.Version < 1 || !bytes.Equal(b, SealState(f.Version, f.State)) {
		return nil, 0, fmt.Errorf("%w: the checksum of the snapshot does not match", codec.ErrCorrupt)
	}
	return f.State, f.Version, nil
}

// A journal is a snapshot, one line, and a line of
//
//	{"sum":"<16 hexadecimal digits>","entry":{...}}
//
// for each event since. A line's sum covers the sum of the line before, so that
// no line can be changed or exchanged, and none but the last ones can be lost,
// unnoticed. journalEntry is one such line.
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
	EntryHead    = `{"sum":"0000000000000000","entry":{"event":`
)

// Torn reports whether b can be what is left of a line whose writing was
// interrupted: its beginning, without its end of line, or less of it and then
// zeros, with which file systems fill a block that was not written.
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
	return int(d.InputOffset()) == len(b)
}

// OpenEntry returns the entry of the line that follows the line of sum last, and its
// sum.
func OpenEntry(last string, line []byte) (entry []byte, sum string, err error) {
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
