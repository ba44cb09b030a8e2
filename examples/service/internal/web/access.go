package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/examples/service/api"
)

// Access says whom a [Server] answers.
//
// A web page that its reader trusts with nothing can still make the reader's
// browser send requests to this machine: to an address, whose answers it may not
// read, or to a name of its own that it has let stand for 127.0.0.1 meanwhile (DNS
// rebinding), whose answers it may. Such requests carry the page's origin, or a
// name in the Host header that is not the service's. Both are refused.
type Access struct {
	// Hosts are names and addresses that requests may use for the service,
	// besides localhost, loopback addresses and the address they arrive at.
	Hosts []string
	// Token must come with every request but that for the service's health, in
	// "Authorization: Bearer", or for pages as the password of any user; empty for
	// none. ReadToken is good for requests that change nothing alone.
	Token, ReadToken string
}

var (
	errHost = &webError{http.StatusMisdirectedRequest,
		api.Detail{Code: "host", Message: "the service does not answer to this name; its flag -host adds one"}}
	errOrigin = &webError{http.StatusForbidden,
		api.Detail{Code: "origin", Message: "pages of another origin may not use the service"}}
	errRead = &webError{http.StatusForbidden,
		api.Detail{Code: "read_only", Message: "this token is good for reading alone"}}
	errToken = &webError{http.StatusUnauthorized,
		api.Detail{Code: "token", Message: "the service's token is missing or wrong"}}
)

// admit fails if a request is not to be answered.
func (a *Access) admit(w http.ResponseWriter, r *http.Request) error {
	if !a.knows(r) {
		return errHost
	}
	if !sameOrigin(r) {
		return errOrigin
	}
	page := r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/v1/")
	if a.Token == "" || r.Method == http.MethodGet && r.URL.Path == healthPath {
		return nil
	}
	switch shown := shown(r, page); {
	case same(shown, a.Token):
	case a.ReadToken != "" && same(shown, a.ReadToken):
		if !reads(r) {
			return errRead
		}
	default:
		scheme := `Bearer realm="service"`
		if page {
			scheme = `Basic realm="service, the token as the password", charset="UTF-8"`
		}
		w.Header().Set("WWW-Authenticate", scheme)
		return errToken
	}
	return nil
}

// knows reports whether the Host header names the service.
func (a *Access) knows(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if host == "localhost" || slices.ContainsFunc(a.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap() == ip.Unmap()
}

// sameOrigin reports whether a request comes from a page of the service, or from
// no page.
func sameOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(u.Host, r.Host) {
			return false
		}
	}
	return true
}

// shown returns the token of a request, empty if it has none.
func shown(r *http.Request, page bool) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimLeft(token, " ")
	}
	if page {
		_, password, _ := r.BasicAuth()
		return password
	}
	return ""
}

// same compares in a time that does not depend on where the first difference is.
func same(shown, token string) bool {
	got, want := sha256.Sum256([]byte(shown)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// reads reports whether a request changes nothing: those to predict have a body.
func reads(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead ||
		r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v1/studies/") &&
			strings.HasSuffix(r.URL.Path, "/predict")
}
