#!/usr/bin/env bash
# Makes the Go code of suggestion.proto, into DIR or beside it:
#
#	internal/api/generate.sh PYTHON [DIR]
#
# PYTHON has the package grpcio-tools, which brings protoc; its version stands in
# the generated files, .ci/katib names it and compares. The plugins are those of
# go.mod.
set -euo pipefail
cd "$(dirname "$0")"
python=$1 dir=${2:-.}
plugins=$(mktemp -d)
trap 'rm -rf "$plugins"' EXIT
go build -o "$plugins" google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
PATH=$plugins:$PATH "$python" -m grpc_tools.protoc -I. \
	--go_out="$dir" --go_opt=paths=source_relative \
	--go-grpc_out="$dir" --go-grpc_opt=paths=source_relative suggestion.proto
