module github.com/gocmbo/cmbo/examples/service

go 1.25.0

replace github.com/gocmbo/cmbo => ../..

require (
	github.com/gocmbo/cmbo v0.0.0
	github.com/gofrs/flock v0.13.0
)

require golang.org/x/sys v0.40.0 // indirect
