package disk_test

import (
	"testing"

	"github.com/gocmbo/cmbo/examples/service/internal/disk"
	"github.com/gocmbo/cmbo/examples/service/internal/disk/disktest"
)

// Whatever remains when the power fails after any operation, to the byte: every
// transaction acknowledged before is there, in order, and of what was not
// acknowledged no more than the one that was being written.
func TestEveryRemainsOfALog(t *testing.T) {
	r := new(disktest.Recorder)
	begun, done := map[int]int{}, map[int]int{} // transactions by number of operations
	note := func(f func() error) {
		t.Helper()
		from := r.Len()
		before := done[from]
		if err := f(); err != nil {
			t.Fatal(err)
		}
		for n := from; n < r.Len(); n++ {
			begun[n], done[n] = before+1, before
		}
		begun[r.Len()], done[r.Len()] = before+1, before+1
	}
	var l *disk.Log
	note(func() (err error) { l, err = disk.CreateLog(r, "d/a.log", transaction(0)); return err })
	for i := 1; i < 12; i++ {
		note(func() error { return l.Append(transaction(i)) })
		if i%4 == 0 { // the process is killed and started again
			var err error
			n := r.Len()
			if l, _, err = disk.OpenLog(r, "d/a.log", nil); err != nil {
				t.Fatal(err)
			}
			for n++; n <= r.Len(); n++ {
				begun[n], done[n] = i+1, i+1
			}
		}
	}
	states := 0
	for n := 0; n <= r.Len(); n++ {
		r.States(n, 1, func(f *disktest.FS) bool {
			states++
			names, err := disk.List(f, "d", ".log")
			if err != nil {
				t.Fatal(err)
			}
			if len(names) == 0 {
				if done[n] > 0 {
					t.Errorf("after %d operations the log is gone", n)
				}
				return !t.Failed()
			}
			l, got, err := disk.OpenLog(f, "d/a.log", nil)
			if err != nil {
				t.Errorf("after %d operations: %v", n, err)
				return false
			}
			if len(got) < done[n] || len(got) > begun[n] {
				t.Errorf("after %d operations: %d transactions, %d were acknowledged and %d begun", n, len(got), done[n], begun[n])
			}
			for i, tx := range got {
				if string(tx) != string(transaction(i)) {
					t.Errorf("after %d operations: transaction %d is %s", n, i, tx)
				}
			}
			if err := l.Append(transaction(len(got))); err != nil {
				t.Errorf("after %d operations it takes nothing: %v", n, err)
			}
			return !t.Failed()
		})
	}
	t.Logf("%d states after %d operations", states, r.Len())
	if states < 500 {
		t.Error("the test does not try much")
	}
}
