//go:build !linux

package require

import "testing"

// Guarded returns n zeroed bytes, aligned for numbers. This system has no guard pages.
func Guarded(_ testing.TB, n int, _ bool) []byte { return make([]byte, n, n+8) }
