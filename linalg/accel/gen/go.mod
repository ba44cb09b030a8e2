module github.com/gocmbo/cmbo/linalg/accel/gen

go 1.24
