module github.com/gocmbo/cmbo/examples/autotune

go 1.24

require (
	github.com/gocmbo/cmbo v0.0.0
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

replace github.com/gocmbo/cmbo => ../..
