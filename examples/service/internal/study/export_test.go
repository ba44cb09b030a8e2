package study

import "github.com/gocmbo/cmbo/cmbo"

// PriorOf is the prior that a study has in memory, brought to its candidates.
func PriorOf(s *Study) *cmbo.Prior { return s.current.Load().prior }
