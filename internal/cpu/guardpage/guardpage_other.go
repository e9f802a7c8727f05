//go:build !linux

package guardpage

import "testing"

// Bytes returns n zeroed bytes, aligned for numbers. This system has no guard pages.
func Bytes(_ testing.TB, n int, _ bool) []byte { return make([]byte, n, n+8) }
