package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// A progress shows how far a stage of the program has come: a bar that moves
// on a terminal, a single line at the end elsewhere. Its methods may be called
// from any goroutine; a nil progress shows nothing.
type progress struct {
	w     io.Writer
	live  bool // w is a terminal
	width int  // of the labels

	mu     sync.Mutex
	open   bool // a stage has begun and not ended
	label  string
	detail string // of what is being done within the stage
	done   int
	total  int
	since  time.Time
	shown  time.Time
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, width: 46}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			p.live = info.Mode()&os.ModeCharDevice != 0
		}
	}
	return p
}

// begin starts a stage of so many steps.
func (p *progress) begin(label string, total int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open, p.label, p.detail, p.done, p.total, p.since = true, label, "", 0, total, time.Now()
	p.draw(true)
}

// step says that one more step is done.
func (p *progress) step() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.draw(false)
}

// set says what is being done, how many steps of it are done and how many
// there are.
func (p *progress) set(detail string, done, total int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.detail, p.done, p.total = detail, done, total
	p.draw(false)
}

// end finishes the stage's line.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = false
	erase := ""
	if p.live {
		erase = "\r\x1b[K"
	}
	fmt.Fprintf(p.w, "%s  %-*s %5.1f s\n", erase, p.width, p.label, time.Since(p.since).Seconds())
}

// abandon leaves the line of a stage that did not end.
func (p *progress) abandon() {
	if p != nil && p.live && p.open {
		fmt.Fprintln(p.w)
	}
}

// draw redraws the bar, at most some ten times a second.
func (p *progress) draw(force bool) {
	if !p.live || !force && time.Since(p.shown) < 80*time.Millisecond && p.done < p.total {
		return
	}
	p.shown = time.Now()
	const length = 24
	full := 0
	if p.total > 0 {
		full = min(length, length*p.done/p.total)
	}
	label := p.label
	if p.detail != "" {
		label += ": " + p.detail
	}
	fmt.Fprintf(p.w, "\r\x1b[K  %-*s %s%s %d/%d", p.width, label,
		strings.Repeat("█", full), strings.Repeat("░", length-full), p.done, p.total)
}
