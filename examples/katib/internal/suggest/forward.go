package suggest

import (
	"context"

	"google.golang.org/grpc"

	"github.com/gocmbo/cmbo/examples/katib/internal/api"
)

// A Forwarder is an early stopping service that hands its calls to another one: Katib wants
// a container for it beside that of the suggestions, in which the runs and the past are.
type Forwarder struct {
	api.UnimplementedEarlyStoppingServer
	to api.EarlyStoppingClient
}

// NewForwarder returns a service that hands its calls to that of a connection.
func NewForwarder(c grpc.ClientConnInterface) *Forwarder {
	return &Forwarder{to: api.NewEarlyStoppingClient(c)}
}

// ValidateEarlyStoppingSettings implements api.v1.beta1.EarlyStopping.
func (f *Forwarder) ValidateEarlyStoppingSettings(ctx context.Context,
	q *api.ValidateEarlyStoppingSettingsRequest) (*api.ValidateEarlyStoppingSettingsReply, error) {
	return f.to.ValidateEarlyStoppingSettings(ctx, q)
}

// GetEarlyStoppingRules implements api.v1.beta1.EarlyStopping.
func (f *Forwarder) GetEarlyStoppingRules(ctx context.Context,
	q *api.GetEarlyStoppingRulesRequest) (*api.GetEarlyStoppingRulesReply, error) {
	return f.to.GetEarlyStoppingRules(ctx, q)
}

// SetTrialStatus implements api.v1.beta1.EarlyStopping.
func (f *Forwarder) SetTrialStatus(ctx context.Context,
	q *api.SetTrialStatusRequest) (*api.SetTrialStatusReply, error) {
	return f.to.SetTrialStatus(ctx, q)
}
