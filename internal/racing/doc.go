// Package racing tells tests whether the race detector runs. The detector slows plain Go five to
// twenty times, and it finds nothing in a test of one goroutine.
package racing

import "testing"

// Skip skips a long test under the race detector. The reason says which shorter test runs the same
// goroutines, or that the test starts none.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if Detector {
		t.Skip("race detector: " + reason)
	}
}
