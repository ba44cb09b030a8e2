package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

// A Log is a file of lines
//
//	{"sum":"<16 hexadecimal digits>","tx":{...}}
//
// one for each transaction. A sum covers the one before and the transaction, so
// that no line can be changed, lost, exchanged or added unnoticed.
//
// [Log.Append] returns nil once its line is on disk. After a process was killed,
// or the power failed, the file holds all those lines, and perhaps the beginning
// or the whole of one more, whose Append had not returned: [OpenLog] cuts a
// beginning off and accepts a whole line. That what lasts of a write that was not
// synced is its beginning is an assumption about the file system; where it does not
// hold, the log is found damaged.
//
// An Append that fails leaves the log as it was. A line that was not written
// whole is cut off again. After a failed sync the file itself is not trusted any
// more, because the system may forget what it could not write and report success
// the next time: nothing is appended to it. The next Append first copies what was
// acknowledged, which the sums prove, to a new file, which takes its name once it
// is synced. Until that succeeds every Append fails. The same holds if cutting
// fails.
//
// If neither cutting nor the copy succeeded before the process ends, the line of
// a failed Append may be found whole at the next start; it then counts.
//
// A line that is found at a start may have been written by a process that was
// killed before it synced, or when it could not. [OpenLog] writes the last line
// again and syncs; if that fails, the file is not trusted either, and
// [Log.Settle] fails until the copy succeeds.
//
// A Log serves one goroutine at a time.
type Log struct {
	fs      FS
	path    string
	file    File   // nil if suspect kept it from being opened
	size    int64  // of what was acknowledged
	sum     string // of the last line acknowledged
	suspect bool   // the file may differ from what was acknowledged
	closed  bool
}

// line is what a line holds.
type line struct {
	Sum string          `json:"sum"`
	Tx  json.RawMessage `json:"tx"`
}

// link returns the sum of a transaction that follows the line of sum last.
func link(last string, tx []byte) string {
	h := sha256.New()
	h.Write([]byte(last))
	h.Write(tx)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func seal(sum string, tx []byte) []byte {
	return fmt.Appendf(nil, `{"sum":"%s","tx":%s}`+"\n", sum, tx)
}

// scan reads lines until the end, or to a last line that is not whole; size is
// the number of bytes before it.
func scan(b []byte) (txs [][]byte, sum string, size int64, err error) {
	rest := b
	for n := 1; ; n++ {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			break
		}
		var l line
		if err := json.Unmarshal(rest[:end], &l); err != nil {
			return nil, "", 0, fmt.Errorf("%w: line %d: %w", ErrDamaged, n, err)
		}
		next := link(sum, l.Tx)
		if !bytes.Equal(rest[:end], seal(next, l.Tx)) {
			return nil, "", 0, fmt.Errorf("%w: line %d: the sum does not match", ErrDamaged, n)
		}
		txs, sum, rest = append(txs, l.Tx), next, rest[end:]
	}
	// An unfinished line is the beginning of one. Anything behind a whole
	// object is not: its end of line was changed after it had been written.
	var l line
	if d := json.NewDecoder(bytes.NewReader(rest)); d.Decode(&l) == nil && d.InputOffset() < int64(len(rest)) {
		return nil, "", 0, fmt.Errorf("%w: the last line does not end", ErrDamaged)
	}
	return txs, sum, int64(len(b) - len(rest)), nil
}

// CreateLog makes a log that begins with a transaction; there must be no file of
// that name. tx is one JSON value without line breaks.
func CreateLog(fsys FS, path string, tx []byte) (*Log, error) {
	l := &Log{fs: fsys, path: path, sum: link("", tx)}
	first := seal(l.sum, tx)
	err := WriteFile(fsys, path, first)
	if err == nil {
		if l.file, err = fsys.Open(path); err == nil {
			l.size = int64(len(first))
			return l, nil
		}
	}
	_ = fsys.Remove(path) // lest a log that was not made be found at a start
	return nil, failure(err)
}

// OpenLog opens a log and returns its transactions. It fails with [ErrDamaged]
// if the file is not a log, or one without a whole first line, and as check does, which
// may be nil: it sees the transactions before anything is cut off.
func OpenLog(fsys FS, path string, check func(txs [][]byte) error) (*Log, [][]byte, error) {
	b, err := ReadFile(fsys, path)
	if err != nil {
		return nil, nil, err
	}
	txs, sum, size, err := scan(b)
	if err != nil {
		return nil, nil, err
	}
	if len(txs) == 0 {
		return nil, nil, fmt.Errorf("%w: it has no whole first line", ErrDamaged)
	}
	if check != nil {
		if err := check(txs); err != nil {
			return nil, nil, err
		}
	}
	l := &Log{fs: fsys, path: path, size: size, sum: sum}
	if l.file, err = fsys.Open(path); err != nil {
		l.suspect = true // it can be read; Append will try again
		return l, txs, nil
	}
	// The last line may be read and yet not be on disk: the process that wrote
	// it was killed before it synced, or after a sync that failed, whose error
	// the system does not tell twice. Only what is written again is sure to be
	// synced.
	last := bytes.LastIndexByte(b[:size-1], '\n') + 1
	if _, err := l.file.WriteAt(b[last:size], int64(last)); err != nil {
		l.suspect = true
	}
	l.cut()
	return l, txs, nil
}

// ErrClosed: the log was closed.
var ErrClosed = errors.New("the log is closed")

// Append adds a transaction, one JSON value without line breaks. Nothing has
// changed if it fails.
func (l *Log) Append(tx []byte) error {
	if err := l.Settle(); err != nil {
		return err
	}
	sum := link(l.sum, tx)
	b := seal(sum, tx)
	_, err := l.file.WriteAt(b, l.size)
	if err != nil {
		l.cut()
		return failure(err)
	}
	if err := l.file.Sync(); err != nil {
		l.cut() // lest the line be found at a start
		l.suspect = true
		return failure(err)
	}
	l.size += int64(len(b))
	l.sum = sum
	return nil
}

// Settle returns nil if all transactions are on disk. That can only be in doubt
// after an [OpenLog] that could not sync, or a failed Append. Callers must not
// acknowledge transactions found in a log before.
func (l *Log) Settle() error {
	if l.closed {
		return ErrClosed
	}
	if l.suspect {
		return l.renew()
	}
	return nil
}

// cut takes back what was written beyond the last line acknowledged.
func (l *Log) cut() {
	err := l.file.Truncate(l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.suspect = true
	}
}

// renew puts a new file with what was acknowledged in the place of a suspect
// one.
func (l *Log) renew() error {
	b, err := ReadFile(l.fs, l.path)
	if err != nil {
		return err
	}
	if int64(len(b)) < l.size {
		return fmt.Errorf("%w: %d of %d bytes are left", ErrDamaged, len(b), l.size)
	}
	b = b[:l.size]
	if _, sum, _, err := scan(b); err != nil {
		return err
	} else if sum != l.sum {
		return fmt.Errorf("%w: it is not what was written", ErrDamaged)
	}
	if l.file != nil {
		_ = l.file.Close() // it has nothing that is still needed
		l.file = nil
	}
	if err := WriteFile(l.fs, l.path, b); err != nil {
		return err
	}
	if l.file, err = l.fs.Open(l.path); err != nil {
		return failure(err)
	}
	l.suspect = false
	return nil
}

// Remove closes the log and removes its file. If the file cannot be removed, the
// log goes on; if the removal cannot be made to last, the error says so, but the
// log is closed.
func (l *Log) Remove() error {
	if l.closed {
		return ErrClosed
	}
	if l.file != nil {
		_ = l.file.Close() // some systems do not remove open files
		l.file, l.suspect = nil, true
	}
	if err := l.fs.Remove(l.path); err != nil {
		return failure(err)
	}
	l.closed = true
	return failure(l.fs.SyncDir(filepath.Dir(l.path)))
}

// Closed reports whether the log takes nothing any more.
func (l *Log) Closed() bool { return l.closed }

// Close closes the file. Everything acknowledged is on disk already.
func (l *Log) Close() error {
	if l.closed {
		return nil
	}
	if l.suspect {
		_ = l.renew() // so that a failed Append is not found at a start
	}
	l.closed = true
	if l.file == nil {
		return nil
	}
	return failure(l.file.Close())
}
