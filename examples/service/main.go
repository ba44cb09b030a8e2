// Service offers cmbo over HTTP: studies that are created, asked and told as
// JSON, every event on disk before it is acknowledged, and a page on each.
//
//	go run -C examples/service . -dir DIR [flags]
//
// README.md beside this file has the endpoints, the promises and the limits.
//
// The packages in reading order: api is the JSON, internal/study the studies
// and their logs, internal/disk the files, internal/web the HTTP interface and
// the pages; client calls the service, client/tune is a program that does, and
// load measures.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gocmbo/cmbo/examples/service/internal/disk"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/examples/service/internal/web"
)

// options are the command line's.
type options struct {
	dir         string
	addr        string
	priors      string
	limits      study.Limits
	hosts       []string
	token       string
	readToken   string
	logJSON     bool
	probe       bool
	logLevel    slog.Level
	body        int64
	bodies      int64
	timeout     time.Duration
	shutdown    time.Duration
	refresh     int
	parallelism int
	fs          disk.FS // nil for the operating system's
}

// shortToken is the least length of a token.
const shortToken = 16

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{limits: study.DefaultLimits(), refresh: 5, parallelism: 1}
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, "Service offers Bayesian optimisation over HTTP.\n\nUsage: service -dir DIR [flags]\n\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.dir, "dir", "", "`directory` of the studies and priors; made if it is not there")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080",
		"`address` to listen on; without a token, anyone who can reach it can do everything")
	flags.Func("host", "`name` or address by which requests may call the service, besides localhost, loopback addresses and the address they arrive at; may be given several times", func(name string) error {
		o.hosts = append(o.hosts, name)
		if name == "" || strings.ContainsAny(name, "/[] ") || strings.Count(name, ":") == 1 {
			return errors.New("a name or an address without a port is needed")
		}
		return nil
	})
	flags.StringVar(&o.token, "token", "", "`token` that every request must show; other users of the machine see a command line, so -token-file is better")
	tokenFile := flags.String("token-file", "", "`file` with the token")
	readFile := flags.String("read-token-file", "",
		"`file` with a token that is good for reading alone, pages and metrics among it")
	flags.BoolVar(&o.probe, "probe", false,
		"ask the service that listens on -addr, an address of this machine, whether it is up, and end")
	flags.BoolVar(&o.logJSON, "log-json", false, "write the log as JSON lines")
	flags.TextVar(&o.logLevel, "log-level",
		slog.LevelInfo, "least `level` of what is logged: debug has requests that only read, too")
	flags.StringVar(&o.priors, "priors", "", "`directory` of encoded priors, *.prior, to take over under their file names at each start")
	l := &o.limits
	numbers := []struct {
		value *int
		name  string
		least int
		usage string
	}{
		{&l.Studies, "max-studies", 0, "largest `number` of studies"},
		{&l.Priors, "max-priors", 0, "largest `number` of priors"},
		{&l.OpenTrials, "max-open", 1, "largest `number` of open trials of a study"},
		{&l.Events, "max-events", 1, "largest `number` of trials and observations of a study"},
		{&l.Ask, "max-ask", 1, "largest `number` of trials asked for at once"},
		{&l.Dims, "max-dims", 1, "largest `number` of coordinates of a space"},
		{&l.Candidates, "max-candidates", 1, "largest `number` of candidates"},
		{&l.Tasks, "max-tasks", 0, "largest `number` of tasks to learn from"},
		{&l.TaskRows, "max-task-rows", 1, "largest `number` of observations of one task"},
		{&o.refresh, "refresh", 0, "`seconds` after which pages load themselves again; 0 for never"},
		{&o.parallelism, "parallelism", 1, "`number` of goroutines of one computation"},
	}
	for _, f := range numbers {
		flags.IntVar(f.value, f.name, *f.value, f.usage)
	}
	flags.Int64Var(&o.body, "max-body", web.DefaultBody, "largest body in `bytes`")
	flags.Int64Var(&o.bodies, "max-bodies",
		web.DefaultBodies, "`bytes` of all large bodies that are read or worked on at once, -max-body or more; others wait")
	flags.DurationVar(&o.timeout, "timeout", web.DefaultTimeout, "longest `time` to work on a request")
	flags.DurationVar(&o.shutdown, "shutdown",
		20*time.Second, "longest `time` to wait for requests under way when stopped")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; -help lists the flags", flags.Arg(0))
	case o.dir == "" && !o.probe:
		return nil, errors.New("-dir is missing; -help lists the flags")
	case o.token != "" && *tokenFile != "":
		return nil, errors.New("both -token and -token-file")
	}
	errs := []error{
		atLeast("max-body", o.body, 1), atLeast("max-bodies", o.bodies, o.body),
		atLeast("timeout", o.timeout, time.Millisecond), atLeast("shutdown", o.shutdown, 0),
	}
	for _, f := range numbers {
		errs = append(errs, atLeast(f.name, *f.value, f.least))
	}
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	for _, t := range []struct {
		token *string
		file  string
	}{{&o.token, *tokenFile}, {&o.readToken, *readFile}} {
		if err := readToken(t.token, t.file); err != nil {
			return nil, err
		}
	}
	if o.readToken != "" && (o.token == "" || o.token == o.readToken) {
		return nil, errors.New("-read-token-file needs a -token-file with another token, without which everybody may write")
	}
	return o, nil
}

// readToken takes a token from a file, if one is named, and checks it.
func readToken(token *string, file string) error {
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if *token = strings.TrimSpace(string(b)); *token == "" {
			return fmt.Errorf("%s is empty", file)
		}
	}
	if *token != "" && (len(*token) < shortToken || strings.ContainsFunc(*token, func(c rune) bool { return c <= ' ' || c >= 0x7f })) {
		return fmt.Errorf("a token needs at least %d characters, visible ASCII ones", shortToken)
	}
	return nil
}

// atLeast reports a flag below its smallest value.
func atLeast[T cmp.Ordered](name string, value, least T) error {
	if value < least {
		return fmt.Errorf("-%s %v: at least %v is needed", name, value, least)
	}
	return nil
}

func main() { os.Exit(run(os.Args[1:], nil)) }

// run is the program with its arguments and file system, nil for the operating
// system's. It returns the exit code.
func run(args []string, fsys disk.FS) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second signal ends the process at once
	o, err := parse(args, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil && o.probe {
		if err = probe(ctx, o.addr); err == nil {
			return 0
		}
	}
	if err == nil {
		o.fs = fsys
		err = serve(ctx, o, os.Stdout, newLog(o, os.Stderr))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		return 1
	}
	return 0
}

// probe fails unless a service answers that listens on an address of this machine.
func probe(ctx context.Context, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() { // it listens on all
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+net.JoinHostPort(host, port)+"/v1/health", nil)
	if err != nil {
		return err
	}
	r.Host = "localhost" // a name that every service answers to
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the service answers %s", resp.Status)
	}
	return nil
}

// newLog returns the log that the options ask for.
func newLog(o *options, w io.Writer) *slog.Logger {
	h := &slog.HandlerOptions{Level: o.logLevel}
	if o.logJSON {
		return slog.New(slog.NewJSONHandler(w, h))
	}
	return slog.New(slog.NewTextHandler(w, h))
}

// serve runs the service until ctx is done, then lets the requests under way
// finish and closes the files.
func serve(ctx context.Context, o *options, stdout io.Writer, logger *slog.Logger) error {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	lock, err := disk.Lock(o.dir)
	if err != nil {
		return fmt.Errorf("%s: %w", o.dir, err)
	}
	defer lock.Close()
	m, err := study.Open(study.Config{
		Dir: o.dir, FS: o.fs, Limits: o.limits, Parallelism: o.parallelism,
		Report: func(id string, err error) { logger.Error("a study is not served", "study", id, "error", err) },
	})
	if err != nil {
		return err
	}
	defer m.Close()
	if err := importPriors(ctx, m, o.priors); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	if a, ok := listener.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() && o.token == "" {
		logger.Warn("open to other machines without a token: whoever reaches it can do everything", "address", a.String())
	}
	fmt.Fprintf(stdout, "listening on http://%s with %d studies\n", listener.Addr(), len(m.Studies()))
	handler := web.New(web.Config{
		Studies: m, Access: web.Access{Hosts: o.hosts, Token: o.token, ReadToken: o.readToken},
		Body: o.body, Bodies: o.bodies, Timeout: o.timeout, Refresh: o.refresh, Log: logger,
	})
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      o.timeout + time.Minute, // a request waits and computes in it
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	server.RegisterOnShutdown(handler.End)
	go expire(ctx, m, logger)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	logger.Info("stopping")
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.shutdown)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		logger.Warn("requests are still under way", "error", err)
		_ = server.Close() // their contexts end, and so do they
	}
	return m.Close()
}

// expire ends the trials whose deadlines pass, until ctx is done.
func expire(ctx context.Context, m *study.Manager, logger *slog.Logger) {
	said := ""
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			err := m.Expire(ctx, now.UnixMilli())
			if text := fmt.Sprint(err); err != nil && text != said && ctx.Err() == nil {
				said = text // and not each second
				logger.Error("ending trials after their deadline", "error", err)
			}
		}
	}
}

// importPriors takes over the encoded priors of a directory.
func importPriors(ctx context.Context, m *study.Manager, dir string) error {
	if dir == "" {
		return nil
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("-priors: %w", err)
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".prior")
		if !ok {
			continue
		}
		file := filepath.Join(dir, f.Name())
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		_, err = m.AddPrior(ctx, id, b)
		if errors.Is(err, study.ErrNameTaken) {
			err = fmt.Errorf("%w, kept in -dir: rename the file, or start without it and DELETE /v1/priors/%s", err, id)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}
