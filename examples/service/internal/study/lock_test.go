package study

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// waiting waits until so many wait for a lock.
func waiting(t *testing.T, l *lock, n int) {
	t.Helper()
	for range 10000 {
		l.mu.Lock()
		got := len(l.queue)
		l.mu.Unlock()
		if got == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("there are never %d who wait", n)
}

// Those who wait have the lock in the order in which they came, before whoever lets go of it could take it again.
func TestLockOrder(t *testing.T) {
	var l lock
	if err := l.takeAside(t.Context()); err != nil || l.try() {
		t.Fatalf("a lock that is held is taken: %v", err)
	}
	order := make(chan int, 5)
	for i := range cap(order) {
		take := l.take
		if i%2 == 1 {
			take = l.takeAside
		}
		go func() {
			if err := take(t.Context()); err != nil {
				t.Error(err)
			}
			order <- i
			l.release()
		}()
		waiting(t, &l, i+1)
	}
	l.release()
	if err := l.takeAside(t.Context()); err != nil || len(order) != cap(order) {
		t.Errorf("the lock is taken again after %d of those who waited (%v)", len(order), err)
	}
	for want := range cap(order) {
		if got := <-order; got != want {
			t.Errorf("%d was before %d", got, want)
		}
	}
	if l.release(); !l.try() {
		t.Error("a lock that nobody holds is not free")
	}
}

// Work aside is told once that a request waits, also by one that waited before, and of nobody else; who comes after it
// is not.
func TestLockYield(t *testing.T) {
	var l lock
	told := make(chan int, 10)
	tell := func(n int) func() { return func() { told <- n } }
	pass := make(chan struct{})
	wait := func(take func(context.Context) error) {
		go func() {
			if err := take(t.Context()); err != nil {
				t.Error(err)
			}
			<-pass
			l.release()
		}()
	}
	if !l.try() {
		t.Fatal("not free")
	}
	l.yieldBy(tell(1))
	wait(l.takeAside)
	waiting(t, &l, 1)
	if len(told) > 0 {
		t.Error("work aside is wanted by work aside")
	}
	wait(l.take)
	wait(l.take)
	waiting(t, &l, 3)
	l.yieldBy(tell(2)) // who is told by then
	if want := []int{1, 2}; len(told) != 2 || <-told != want[0] || <-told != want[1] {
		t.Errorf("not told %v", want)
	}
	l.release()
	for range 3 {
		pass <- struct{}{}
	}
	if err := l.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.yieldBy(tell(3))
	l.release()
	if !l.try() {
		t.Fatal("not free")
	}
	wait(l.take)
	waiting(t, &l, 1)
	l.release()
	pass <- struct{}{}
	if len(told) > 0 {
		t.Errorf("told %d after it let go of the lock", <-told)
	}
}

// One who waits no more leaves nothing behind: neither a place in the queue, nor a lock that was handed over just then.
func TestLockCancel(t *testing.T) {
	var l lock
	ended, end := context.WithCancel(t.Context())
	end()
	if err := l.take(ended); !errors.Is(err, context.Canceled) || !l.try() {
		t.Errorf("taken after its context ended: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- l.take(ctx) }()
	waiting(t, &l, 1)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	told := false
	if l.yieldBy(func() { told = true }); told || len(l.queue) > 0 {
		t.Error("one who left still waits")
	}
	l.release()
	handed := 0
	for i := range 200 {
		if !l.try() {
			t.Fatal("a lock that was handed to one who left is lost")
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			err := l.take(ctx)
			if err == nil {
				handed++
				l.release()
			}
			left <- err
		}()
		waiting(t, &l, 1)
		if i%2 == 0 { // which of the two comes first is left to chance
			go cancel()
			l.release()
		} else { // it is handed over after the wait has ended, and before take knows
			l.mu.Lock()
			cancel()
			time.Sleep(time.Millisecond)
			l.next()
			l.mu.Unlock()
		}
		if err := <-left; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	t.Logf("%d of 200 had the lock", handed)
}

// One at a time, whoever comes and goes, and in the end nobody.
func TestLockExcludes(t *testing.T) {
	var l lock
	var wg sync.WaitGroup
	count, want := 0, make([]int, 32)
	for i := range want {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for range 300 {
				ctx, cancel := context.WithCancel(t.Context())
				has := false
				switch rng.IntN(4) {
				case 0:
					has = l.take(ctx) == nil
				case 1:
					if has = l.takeAside(ctx) == nil; has {
						l.yieldBy(cancel)
					}
				case 2:
					has = l.try()
				default:
					time.AfterFunc(time.Duration(rng.IntN(200))*time.Microsecond, cancel)
					has = l.take(ctx) == nil
				}
				if has {
					count++ // which the race detector sees if two have the lock
					want[i]++
					l.release()
				}
				cancel()
			}
		}()
	}
	wg.Wait()
	sum := 0
	for _, n := range want {
		sum += n
	}
	if count != sum || l.held || len(l.queue) > 0 || slices.Max(want) == 0 {
		t.Errorf("%d times of %d; held %v, %d wait", count, sum, l.held, len(l.queue))
	}
}
