package save

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer"
)

// If the event file refuses a record, the run continues with one warning, and no record is lost.
func TestEventsRefused(t *testing.T) {
	var warnings []string
	d := require.Value(Create(filepath.Join(t.TempDir(), "run"), "task", "method", Options{TensorBoard: true, Clock: time.Now,
		Warn: func(text string) { warnings = append(warnings, text) }}))(t)
	require.NoError(t, d.Begin(Beginning{Config: []byte("seed: 1\n")}))
	for iteration := range 4 {
		if iteration == 2 {
			_ = d.events.Close()
		}
		require.NoError(t, d.Record(&trainer.Record{Iteration: iteration}))
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	records, err := rundir.ReadMetrics(d.Path.Metrics())
	if len(records) != 4 || err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "the records for TensorBoard cannot be written") {
		t.Errorf("%d records, %v, warnings %q", len(records), err, warnings)
	}
}
