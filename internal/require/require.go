// Package require ends a test whose set-up fails.
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
