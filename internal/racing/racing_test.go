package racing

import "testing"

// Skip ends a test under the race detector, and only there.
func TestSkip(t *testing.T) {
	ended := true
	t.Run("skipped", func(t *testing.T) {
		Skip(t, "an example")
		ended = false
	})
	if ended != Detector {
		t.Errorf("Skip ended the test: %v, with the detector: %v", ended, Detector)
	}
}
