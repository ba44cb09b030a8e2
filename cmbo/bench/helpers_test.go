package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
)

func protocolOf(t testing.TB, name string) Protocol {
	p, err := FindProtocol(name)
	require.NoError(t, err)
	return p
}

func tableOf(t testing.TB, path, space string) *Table {
	table, err := OpenTable(path, space)
	require.NoError(t, err)
	return table
}

func divided(t testing.TB, p Protocol, table *Table, i int) *split {
	s, err := p.divide(table, i)
	require.NoError(t, err)
	return s
}

func newOptimizer(t testing.TB, s *cmbo.Space, opts ...cmbo.Option) *cmbo.Optimizer {
	o, err := cmbo.New(s, opts...)
	require.NoError(t, err)
	return o
}
