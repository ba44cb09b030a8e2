//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/client"
	"github.com/gocmbo/cmbo/examples/service/internal/twin"
)

// createKinds uploads the priors and creates a study of each kind.
func createKinds(t *testing.T, c *client.Client) {
	t.Helper()
	putPriors(t, c)
	for _, k := range twin.Kinds(t) {
		q := k.Study
		q.ID = k.Name
		if _, err := c.CreateStudy(t.Context(), &q); err != nil {
			t.Fatal(err)
		}
	}
}

func putPriors(t *testing.T, c *client.Client) {
	t.Helper()
	for _, k := range twin.Kinds(t) {
		for i, p := range k.Priors() {
			var b bytes.Buffer
			if err := p.Encode(&b); err != nil {
				t.Fatal(err)
			}
			if _, err := c.PutPrior(t.Context(), pastName(i), b.Bytes()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// pastName is the name of one of the priors of a kind.
func pastName(i int) string { return []string{"past", "past-2"}[i] }

// driver is a client of one study after another, with a twin for each.
type driver struct {
	kind twin.Kind
	rng  *rand.Rand

	study   string // ID
	created bool   // its creation was acknowledged
	twin    *twin.Twin
	key     int
	pending *twin.Op // sent with key, and not answered
	sent    int      // requests to this study
	old     string   // study to delete, if any
	spare   int      // priors of its own that were kept and deleted, two steps for each
	deleted []string // studies whose deletion was acknowledged

	studies, done, lost, found, priors int
}

// drive sends requests until the service does not answer any more.
func (d *driver) drive(t *testing.T, p *process) error {
	c := p.client(func() string { return fmt.Sprintf("key-%d", d.key) })
	if d.twin != nil && d.created {
		if err := d.compare(t, c); err != nil {
			return silent(err)
		}
	}
	for {
		if d.old != "" {
			// A deletion that had no answer may have been done.
			if err := c.DeleteStudy(t.Context(), d.old); err != nil && client.Code(err) != "unknown_study" {
				return silent(err)
			}
			d.deleted, d.old = append(d.deleted, d.old), ""
		}
		if d.spare%2 == 1 || d.sent%16 == 8 { // by turns two priors that have one name
			if err := d.keepOrDelete(t, c); err != nil {
				return silent(err)
			}
			d.spare++
		}
		if d.twin == nil || d.sent > 60 && d.pending == nil {
			if d.twin != nil {
				if err := d.compare(t, c); err != nil {
					return silent(err)
				}
				d.old = d.study
			}
			var err error
			if d.twin, err = twin.New(d.kind); err != nil {
				return err
			}
			d.studies++
			d.study, d.created, d.sent = fmt.Sprintf("%s-%d", d.kind.Name, d.studies), false, 0
		}
		if !d.created {
			q := d.kind.Study
			q.ID = d.study
			if _, err := c.CreateStudy(t.Context(), &q); err != nil {
				return silent(err)
			}
			d.created = true
		}
		if d.pending == nil {
			op := d.twin.Next(d.rng)
			if n := len(d.kind.Priors()); n > 0 && d.rng.IntN(12) == 0 {
				op = twin.Op{Kind: "prior", N: d.rng.IntN(n)}
			}
			d.key++
			d.pending = &op
		}
		if err := d.send(t, c, *d.pending); err != nil {
			return silent(err)
		}
		d.pending = nil
		d.sent++
		d.done++
	}
}

// keepOrDelete keeps a prior under the driver's name, which is free once the one before was deleted, or deletes it.
func (d *driver) keepOrDelete(t *testing.T, c *client.Client) error {
	name := "of-" + d.kind.Name
	if d.spare%2 == 0 {
		x := float64(d.spare / 2 % 2)
		task := api.Task{ID: name, X: []api.Row{{x}, {0.5}}, Y: api.Row{1, 2}}
		points := 2
		space, err := cmbo.NewSpace(cmbo.Float("x", 0, 1))
		if err == nil {
			_, err = c.LearnPrior(t.Context(), &api.NewPrior{Name: name, Space: space, Learn: api.Learn{Tasks: []api.Task{task}, IndexPoints: &points}})
		}
		return err
	}
	if err := c.DeletePrior(t.Context(), name); err != nil && client.Code(err) != "unknown_prior" {
		return err
	}
	d.priors++
	_, err := c.Prior(t.Context(), name)
	switch client.Code(err) {
	case "unknown_prior":
		return nil
	case "":
		if err == nil {
			err = errDiffers("there is a prior that was deleted, " + name)
		}
	}
	return err
}

// errDiffers is a finding of the test; other errors are the service's silence.
type errDiffers string

func (e errDiffers) Error() string { return string(e) }

func silent(err error) error {
	if e, ok := err.(errDiffers); ok {
		return e
	}
	if client.Code(err) != "" {
		return err
	}
	return nil
}

// send sends a request, and does the same to the twin once it is answered.
func (d *driver) send(t *testing.T, c *client.Client, op twin.Op) error {
	got, err := call(t, c, d.study, op)
	if err != nil && client.Code(err) == "" {
		d.lost++
		return err
	}
	want, wantErr := d.twin.Apply(op)
	if client.Code(err) != twin.Code(wantErr) {
		return errDiffers(fmt.Sprintf("%s: %v: %v, the twin: %v", d.study, op, err, wantErr))
	}
	if diff := twin.DiffTrials(got, want); diff != "" {
		return errDiffers(fmt.Sprintf("%s: %v: %s", d.study, op, diff))
	}
	return nil
}

// call sends a request.
func call(t *testing.T, c *client.Client, study string, op twin.Op) (opened []api.Trial, err error) {
	ctx := t.Context()
	switch op.Kind {
	case "tell":
		if op.Noise > 0 {
			return nil, c.TellNoisy(ctx, study, op.Trial, op.Y, op.Noise)
		}
		return nil, c.Tell(ctx, study, op.Trial, op.Y)
	case "fail":
		return nil, c.Fail(ctx, study, op.Trial)
	case "cancel":
		return nil, c.Cancel(ctx, study, op.Trial)
	case "observe":
		o := &api.Observe{Point: api.Point{X: op.X}, Y: &op.Y}
		if op.Noise > 0 {
			o.NoiseVariance = &op.Noise
		}
		_, err = c.ObserveWith(ctx, study, o)
		return nil, err
	case "prior":
		_, err = c.SetPrior(ctx, study, pastName(op.N))
		return nil, err
	}
	return c.Ask(ctx, study, op.N)
}

// compare holds the study against the twin. The request that had no answer may
// have been done; then it is sent again, and the answer is what it would have
// been.
func (d *driver) compare(t *testing.T, c *client.Client) error {
	diff, err := d.diff(t, c)
	if err != nil {
		return err
	}
	if diff == "" {
		return nil
	}
	if d.pending == nil {
		return errDiffers(d.study + ": " + diff)
	}
	if err := d.send(t, c, *d.pending); err != nil {
		return err
	}
	op := *d.pending
	d.pending = nil
	d.found++
	after, err := d.diff(t, c)
	if err == nil && after != "" {
		err = errDiffers(fmt.Sprintf("%s: %s; after %v was sent again: %s", d.study, diff, op, after))
	}
	return err
}

func (d *driver) diff(t *testing.T, c *client.Client) (string, error) {
	trials, err := c.Trials(t.Context(), d.study, "")
	if err != nil {
		return "", err
	}
	s, err := c.Study(t.Context(), d.study)
	if err != nil {
		return "", err
	}
	return d.twin.Diff(trials, s.Best, s.Observations), nil
}

// finish compares once more, and the next proposal.
func (d *driver) finish(t *testing.T, p *process) error {
	c := p.client(func() string { return fmt.Sprintf("key-%d", d.key) })
	if !d.created {
		return nil
	}
	if err := d.compare(t, c); err != nil {
		return err
	}
	if d.pending != nil {
		if err := d.send(t, c, *d.pending); err != nil {
			return err
		}
	}
	d.key++
	return d.send(t, c, twin.Op{Kind: "ask", N: 1})
}
