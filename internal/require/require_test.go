package require_test

import (
	"errors"
	"testing"

	"ppal/internal/require"
)

// ended is a test that notes the error which ends it.
type ended struct {
	testing.TB
	with any
}

func (*ended) Helper() {}

func (t *ended) Fatal(args ...any) { t.with = args[0] }

// TestErrorsEndTheTest checks that an error, and nothing else, ends the test.
func TestErrorsEndTheTest(t *testing.T) {
	fault := errors.New("fault")
	for _, err := range []error{nil, fault} {
		var want any
		if err != nil {
			want = err
		}
		of, call := &ended{}, &ended{}
		require.NoError(of, err)
		if v := require.Value(3, err)(call); v != 3 || of.with != want || call.with != want {
			t.Errorf("error %v: the tests end with %v and %v, value %v", err, of.with, call.with, v)
		}
	}
}

// TestNoRace checks that NoRace ends a test under the race detector, and only there.
func TestNoRace(t *testing.T) {
	ended := true
	t.Run("skipped", func(t *testing.T) {
		require.NoRace(t, "an example")
		ended = false
	})
	if ended != require.Racing {
		t.Errorf("NoRace ended the test: %v, with the detector: %v", ended, require.Racing)
	}
}
