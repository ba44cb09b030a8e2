package suggest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

// account is where Kubernetes puts the service account of a pod: its token, which changes
// from time to time, the certificate of the API server and the pod's namespace.
const account = "/var/run/secrets/kubernetes.io/serviceaccount"

// A cluster is the API server of the pod's cluster.
type cluster struct {
	url, folder string
}

// inCluster returns the cluster that the process runs in.
func inCluster() (*cluster, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("the service does not run in a cluster")
	}
	return &cluster{"https://" + net.JoinHostPort(host, port), account}, nil
}

// conflicts is the number of times at most that a status is written anew because somebody
// else has changed it.
const conflicts = 10

const stoppedEarly = "EarlyStopped"

// SetTrialStatus gives a trial of the pod's namespace the condition EarlyStopped. The
// collector of the trial's metrics calls it once it has stopped the trial.
func (s *Service) SetTrialStatus(ctx context.Context, q *api.SetTrialStatusRequest) (*api.SetTrialStatusReply, error) {
	c, err := inCluster()
	if err == nil {
		err = c.stopped(ctx, q.GetTrialName(), time.Now())
	}
	if err != nil {
		s.Log.Printf("trial %q was stopped, and its status cannot be changed: %v", q.GetTrialName(), err)
		return nil, refusal(err)
	}
	s.Log.Printf("trial %q was stopped early", q.GetTrialName())
	return &api.SetTrialStatusReply{}, nil
}

// stopped gives a trial the condition, if it does not have it.
func (c *cluster) stopped(ctx context.Context, trial string, now time.Time) error {
	var parts [3]string // of the account
	for i, name := range []string{"token", "ca.crt", "namespace"} {
		b, err := os.ReadFile(filepath.Join(c.folder, name))
		if err != nil {
			return err
		}
		parts[i] = strings.TrimSpace(string(b))
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(parts[1])) {
		return fmt.Errorf("%s holds no certificate", filepath.Join(c.folder, "ca.crt"))
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	do := func(method, path, kind string, body []byte) ([]byte, int, error) {
		r, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
		if err != nil {
			return nil, 0, err
		}
		r.Header.Set("Authorization", "Bearer "+parts[0])
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		reply, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			return nil, 0, err
		}
		defer reply.Body.Close()
		b, err := io.ReadAll(io.LimitReader(reply.Body, maxObject))
		if err == nil && reply.StatusCode != http.StatusOK && reply.StatusCode != http.StatusConflict {
			var said struct{ Message string }
			json.Unmarshal(b, &said) // where it says nothing, the number has to do
			err = fmt.Errorf("%s %s: %s: %s", method, path, reply.Status, said.Message)
		}
		return b, reply.StatusCode, err
	}
	path := "/apis/kubeflow.org/v1beta1/namespaces/" + url.PathEscape(parts[2]) + "/trials/" + url.PathEscape(trial)
	for range conflicts {
		b, _, err := do(http.MethodGet, path, "", nil)
		if err != nil {
			return err
		}
		var t struct {
			Metadata struct {
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
			Status struct {
				Conditions []json.RawMessage `json:"conditions"`
			} `json:"status"`
		}
		if err := json.Unmarshal(b, &t); err != nil {
			return fmt.Errorf("trial %q of the cluster: %w", trial, err)
		}
		for _, raw := range t.Status.Conditions {
			var has struct{ Type, Status string }
			if err := json.Unmarshal(raw, &has); err == nil && has.Type == stoppedEarly && has.Status == "True" {
				return nil
			}
		}
		at := now.UTC().Format(time.RFC3339)
		condition, err := json.Marshal(map[string]string{
			"type": stoppedEarly, "status": "True", "reason": "TrialEarlyStopped", "message": "Trial is early stopped",
			"lastUpdateTime": at, "lastTransitionTime": at,
		})
		if err != nil {
			return err
		}
		t.Status.Conditions = append(t.Status.Conditions, condition)
		patch, err := json.Marshal(t) // with the version that was read: the server refuses what would undo a change
		if err != nil {
			return err
		}
		if _, code, err := do(http.MethodPatch, path+"/status", "application/merge-patch+json", patch); err != nil ||
			code == http.StatusOK {
			return err
		}
	}
	return fmt.Errorf("the status of trial %q was changed by others %d times meanwhile", trial, conflicts)
}

// maxObject bounds the bytes of a trial in the cluster.
const maxObject = 16 << 20
