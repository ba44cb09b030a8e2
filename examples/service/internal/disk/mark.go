package disk

import (
	"bytes"
	"encoding/json"
	"errors"
)

// A Mark is a small value in a file of its own, which says how far a log went: what is
// lost from the end of a log, or turned to zeros there by a file system that had
// promised to keep it, looks like a line that was never finished, and only something
// kept apart can tell the two.
//
// The file has two slots, of a sector each, that are written in turn: a value that was
// being written when the power failed leaves the one before. A Mark serves one goroutine
// at a time.
type Mark struct {
	fs   FS
	path string
	file File  // nil until something is stored, and after trouble
	slot int64 // for the next value
	seq  int   // of the newest value
}

// slotSize is what disks write at once.
const slotSize = 512

// slotted is what a slot holds, as a line of a [Log].
type slotted struct {
	Seq   int             `json:"seq"`
	Value json.RawMessage `json:"value"`
}

// OpenMark opens the mark of a name and returns its value, nil if there is none.
func OpenMark(fsys FS, path string) (*Mark, []byte, error) {
	m := &Mark{fs: fsys, path: path}
	b, err := ReadFile(fsys, path)
	if err != nil && !errors.Is(err, ErrMissing) {
		return nil, nil, err
	}
	var value []byte
	for slot := range int64(2) {
		line := b[min(slot*slotSize, int64(len(b))):min((slot+1)*slotSize, int64(len(b)))]
		end := bytes.IndexByte(line, '\n') + 1
		txs, _, _, err := scan(line[:end])
		var s slotted
		if err != nil || len(txs) != 1 || json.Unmarshal(txs[0], &s) != nil || s.Seq <= m.seq {
			continue
		}
		m.seq, m.slot, value = s.Seq, 1-slot, s.Value
	}
	return m, value, nil
}

// Store keeps a value, one of JSON that fits a sector, in place of the one before. If it
// fails the one before is still there.
func (m *Mark) Store(value []byte) error {
	tx, err := json.Marshal(slotted{m.seq + 1, value})
	if err != nil {
		return err
	}
	line := seal(link("", tx), tx)
	if len(line) > slotSize {
		return errors.New("a mark of more than a sector")
	}
	line = append(line, bytes.Repeat([]byte{' '}, slotSize-len(line))...)
	if m.seq == 0 { // there is no file that counts
		if err := WriteFile(m.fs, m.path, line); err != nil {
			return err
		}
		m.seq, m.slot = 1, 1
		return nil
	}
	if m.file == nil {
		if m.file, err = m.fs.Open(m.path); err != nil {
			m.file = nil
			return failure(err)
		}
	}
	if _, err = m.file.WriteAt(line, m.slot*slotSize); err == nil {
		err = m.file.Sync()
	}
	if err != nil {
		_ = m.Close() // what it holds of this slot is not known; the other is as it was
		return failure(err)
	}
	m.seq, m.slot = m.seq+1, 1-m.slot
	return nil
}

// Close closes the file.
func (m *Mark) Close() error {
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.file = nil
	return failure(err)
}
