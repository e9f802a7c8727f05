//go:build !linux

package kernel

import "testing"

// guarded returns n elements; there are no guard pages here.
func guarded[F element](_ testing.TB, n int, _ bool) []F { return make([]F, n) }
