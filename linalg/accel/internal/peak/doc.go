//go:build !(amd64 && gc && !purego && !noasm)

// Package peak is empty on this platform.
package peak
