// Katib is a suggestion service for Katib, Kubernetes' tuning engine.
//
//	go run . [flags]
//
// README.md beside this file says how to install it in a cluster. The service
// is in internal/suggest, the messages in internal/api.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/gocmbo/cmbo/examples/katib/internal/api"
	"github.com/gocmbo/cmbo/examples/katib/internal/suggest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second signal ends the process at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "katib:", err)
		os.Exit(1)
	}
}

// maxRequest bounds the bytes of a request: trials and the state of a run.
const maxRequest = 64 << 20

// run serves until ctx is done, and then the requests under way, no longer than the
// flag shutdown allows: a watch of the service's health has no end of its own.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("katib", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:6789", "`address` to listen on; whoever reaches it can use the service")
	algorithm := flags.String("algorithm", "cmbo", "`name` of the algorithm in experiments")
	db := flags.String("db-manager", "", "`address` of Katib's DB manager, such as katib-db-manager.kubeflow:6789, to learn from the curves of trials where an experiment stops them early")
	dir := flags.String("dir", "", "`folder` of the files that the settings prior and history may name; none if it is empty")
	forward := flags.String("forward", "", "`address` of such a service: be the container of the early stopping beside it, and hand it all calls")
	states := flags.String("states", "", "`folder` to keep runs in for clients that, unlike Katib, do not bring settings back")
	shutdown := flags.Duration("shutdown", 20*time.Second, "longest `time` to wait for requests under way when stopped")
	var urls []string
	flags.Func("url", "`beginning` of URLs that these settings may name, up to a slash; may be given repeatedly", func(url string) error {
		if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") || !strings.HasSuffix(url, "/") {
			return errors.New("it must begin with http:// or https:// and end with /")
		}
		urls = append(urls, url)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -help lists the flags", flags.Arg(0))
	}
	if info, err := os.Stat(*states); *states != "" && (err != nil || !info.IsDir()) {
		return fmt.Errorf("%s is not a folder", *states)
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	logger := log.New(stderr, "katib: ", log.LstdFlags)
	if info, err := os.Stat(*dir); *dir != "" && (err != nil || !info.IsDir()) {
		// Katib mounts a volume for some experiments only, the others do without.
		logger.Printf("there is no folder %s (flag -dir): settings cannot name files", *dir)
	}
	server := newServer(logger)
	if *forward != "" {
		c, err := grpc.NewClient(*forward, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(
				grpc.MaxCallRecvMsgSize(maxRequest), grpc.MaxCallSendMsgSize(maxRequest)))
		if err != nil {
			return err
		}
		defer c.Close()
		api.RegisterEarlyStoppingServer(server, suggest.NewForwarder(c))
	} else {
		s := suggest.New(*algorithm, *dir, urls, *states, logger)
		s.DBManager = *db
		api.RegisterSuggestionServer(server, s)
		api.RegisterEarlyStoppingServer(server, s)
	}
	stop := context.AfterFunc(ctx, func() {
		defer time.AfterFunc(*shutdown, server.Stop).Stop()
		server.GracefulStop()
	})
	defer stop()
	fmt.Fprintf(stdout, "listening on %s\n", listener.Addr())
	return serve(server, listener)
}

// serve serves until the server is stopped, be it before it began.
func serve(s *grpc.Server, l net.Listener) error {
	if err := s.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// newServer returns a server with its health.
func newServer(logger *log.Logger) *grpc.Server {
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxRequest), grpc.MaxSendMsgSize(maxRequest), grpc.UnaryInterceptor(
		func(ctx context.Context, q any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (reply any, err error) {
			defer func() {
				if v := recover(); v != nil {
					logger.Printf("panic in %s: %v\n%s", info.FullMethod, v, debug.Stack())
					reply, err = nil, status.Error(codes.Internal, "the service failed; its log says more")
				}
			}()
			return handle(ctx, q)
		}))
	h := health.NewServer()
	// The second is the name that the probes of Katib's deployments ask for.
	for _, name := range []string{"api.v1.beta1.Suggestion", "manager.v1beta1.Suggestion", "api.v1.beta1.EarlyStopping"} {
		h.SetServingStatus(name, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	grpc_health_v1.RegisterHealthServer(server, h)
	return server
}
