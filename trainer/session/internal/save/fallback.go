package save

import (
	"errors"
	"os"
	"path/filepath"

	"ppal/internal/rundir"
	"ppal/trainer/session/results"
)

// saveElsewhere writes the model of a run, and other files if possible, into a new directory in the
// user's cache or in the directory for temporary files. failure is the error of the run's own
// directory; saveElsewhere adds its own errors. rescued is "" if no directory takes the model.
func (d *Directory) saveElsewhere(f *Finish, sum *results.Summary, failure error) (rescued string, _ error) {
	var errs []error
	for _, base := range fallbackFolders() {
		dir, err := newFallback(base, filepath.Base(string(d.Path)))
		if err == nil {
			err = f.Model.save(dir, func() (string, error) { return dir.WriteRows(f.Model.Members) })
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		// The weights are safe. The other files help to use them.
		config, err := f.Config()
		if err == nil {
			err = rundir.WriteFile(dir.Config(), config)
		}
		summary := *sum
		return string(dir), Join(failure, errors.Join(err, dir.WriteSummary(&summary)))
	}
	return "", Join(failure, errors.Join(errs...))
}

// fallbackFolders returns the directories for files that the run's directory refuses.
func fallbackFolders() (list []string) {
	if cache, err := os.UserCacheDir(); err == nil {
		list = append(list, filepath.Join(cache, "ppal", "rescued"))
	}
	return append(list, filepath.Join(os.TempDir(), "ppal-rescued"))
}

// newFallback makes a new directory for the files of the named run.
func newFallback(base, name string) (rundir.Dir, error) {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(base, name+"-")
	return rundir.Dir(dir), err
}
