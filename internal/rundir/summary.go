package rundir

import (
	"ppal/trainer/session/results"
)

// ReadSummary reads a summary.json. The error wraps disk.ErrChanged if the summary has another
// checksum than it states.
func ReadSummary(path string) (results.Summary, error) {
	s, _, _, err := ReadSealed(path)
	return s, err
}
