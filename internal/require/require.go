// Package require has what tests of all packages share: errors that end a test, cases and golden
// files in testdata, memory between guard pages, and whether the race detector runs.
package require

import "testing"

// NoError ends the test with the error, if there is one.
func NoError(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Value returns the value of a call. The call's error, if there is one, ends the test.
//
//	text := require.Value(os.ReadFile(name))(t)
func Value[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v
	}
}

// NoRace skips a long test under the race detector, which slows plain Go five to twenty times and
// finds nothing in a test of one goroutine. The reason says which shorter test runs the same
// goroutines, or that the test starts none.
func NoRace(t testing.TB, reason string) {
	t.Helper()
	if Racing {
		t.Skip("race detector: " + reason)
	}
}
