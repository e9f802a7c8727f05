package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ppal/internal/rundir"
)

// RescueError reports that files of a finished training could not be written in the run's
// directory, and that the weights are elsewhere.
type RescueError struct {
	Err error  // the reason
	Dir string // the directory with the weights
}

// Error returns the message in a single line.
func (e *RescueError) Error() string { return fmt.Sprintf("%v; the weights are in %s", e.Err, e.Dir) }

// Unwrap returns the reason.
func (e *RescueError) Unwrap() error { return e.Err }

// rescue writes the model of a run, and other files if possible, into a new directory in the user's
// cache or in the directory for temporary files. failure is the error of the run's own directory.
// rescue returns a *RescueError, or errors without a directory if no directory takes the model.
func (s *Session) rescue(failure error) error {
	var errs []error
	for _, base := range rescuePlaces() {
		dir, err := newRescue(base, filepath.Base(string(s.files.dir)))
		if err == nil {
			err = s.saveModel(dir)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		// The weights are safe. The other files help to use them.
		err = s.copyConfig(dir)
		summary := s.summary
		err = errors.Join(err, dir.WriteSummary(&summary))
		return &RescueError{with(failure, err), string(dir)}
	}
	return with(failure, errors.Join(errs...))
}

// copyConfig writes the run's settings.
func (s *Session) copyConfig(dir rundir.Dir) error {
	config, err := s.configFile(s.Describe())
	if err != nil {
		return err
	}
	return rundir.WriteFile(dir.Config(), config)
}

// rescuePlaces returns the directories for files that the run's directory refuses.
func rescuePlaces() (list []string) {
	if cache, err := os.UserCacheDir(); err == nil {
		list = append(list, filepath.Join(cache, "ppal", "rescued"))
	}
	return append(list, filepath.Join(os.TempDir(), "ppal-rescued"))
}

// newRescue makes a new directory for the files of the named run.
func newRescue(base, name string) (rundir.Dir, error) {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(base, name+"-")
	return rundir.Dir(dir), err
}
