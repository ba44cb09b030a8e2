module github.com/gocmbo/cmbo/internal/compare

go 1.24.0

require (
	github.com/gocmbo/cmbo v0.0.0
	gonum.org/v1/gonum v0.17.0
)

replace github.com/gocmbo/cmbo => ../..
