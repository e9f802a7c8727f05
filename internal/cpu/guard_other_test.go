//go:build !linux

package cpu_test

import "testing"

// guardedBytes returns n zeroed bytes, aligned for numbers; there are no guard pages here.
func guardedBytes(_ testing.TB, n int, _ bool) []byte { return make([]byte, n, n+8) }
