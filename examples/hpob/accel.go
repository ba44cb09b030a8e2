package main

// Experiments run for hours, and most of that is linear algebra. Results differ
// in last digits from those without.
import _ "github.com/gocmbo/cmbo/linalg/accel"
