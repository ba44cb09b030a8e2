package cmbo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/surrogatetest"
)

// TestSurrogatesConform: the models of the package keep the contract of those of others.
func TestSurrogatesConform(t *testing.T) {
	space := unitCube(t, 2)
	tasks := crashing(5)
	for i := range tasks {
		tasks[i].Failed = nil
	}
	for name, opts := range map[string][]cmbo.Option{
		"plain":        nil,
		"hierarchical": {cmbo.WithPrior(learn(t, space, tasks))},
	} {
		t.Run(name, func(t *testing.T) {
			surrogatetest.TestSurrogate(t, 2, func() cmbo.Surrogate {
				s, err := cmbo.NewSurrogate(space, opts...)
				require.NoError(t, err)
				return s
			})
		})
	}
	t.Run("example", func(t *testing.T) {
		surrogatetest.TestSurrogate(t, 2, func() cmbo.Surrogate { return new(nearest) })
	})
}
