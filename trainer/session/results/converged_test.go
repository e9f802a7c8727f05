package results

import (
	"encoding/json"
	"fmt"
	"testing"

	"ppal/internal/require"
)

// TestJudge compares what Judge says of summaries with testdata/converged.txt. The input of a case
// has keys of summary.json.
func TestJudge(t *testing.T) {
	require.Cases(t, "testdata/converged.txt", func(t *testing.T, c *require.Case) string {
		var s Summary
		require.NoError(t, json.Unmarshal([]byte(c.Input), &s))
		converged, verdict, whole := s.Judge(1e-3)
		return fmt.Sprintf("converged %t, whole %t: %s\n", converged, whole, verdict)
	})
}
