package compare

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"ppal/internal/atomicfile"
	"ppal/internal/dirlock"
	"ppal/internal/rundir"
	"ppal/trainer"
)

// folder is the directory of a comparison, locked against other processes.
type folder struct {
	dir  string
	lock *dirlock.Lock
}

// claim creates the directory, or checks that it belongs to the same study with the same data and
// the same version of the program, and locks it. The error wraps dirlock.ErrHeld if another process
// holds the lock. The caller calls release.
func claim(s *Study, dir string) (f *folder, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("compare: %w; use another directory (--out)", err)
	}
	lock, err := dirlock.Take(dir)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	f = &folder{dir, lock}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Release())
		}
	}()
	want, err := s.description()
	if err != nil {
		return nil, err
	}
	have, err := os.ReadFile(f.study())
	switch {
	case err == nil && bytes.Equal(have, want):
		return f, nil
	case err == nil:
		if err := s.sameStudy(have, f); err != nil {
			return nil, err
		}
	case !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("compare: %w", err)
	default:
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("compare: %w", err)
		}
		if len(entries) > 1 { // more than the lock
			return nil, fmt.Errorf("compare: %w: %s is not empty: use a new directory (--out)", ErrStudy, dir)
		}
	}
	if err := os.MkdirAll(f.runs(), 0o755); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return f, rundir.WriteFile(f.study(), want)
}

// release releases the lock. The caller no longer uses the directory.
func (f *folder) release() error { return f.lock.Release() }

// study returns the path of the description of the study, and runs the folder of the runs.
func (f *folder) study() string { return filepath.Join(f.dir, "study.yaml") }
func (f *folder) runs() string  { return filepath.Join(f.dir, "runs") }

// records returns the path of the records of a run.
func (f *folder) records(part string) string { return filepath.Join(f.runs(), part+".jsonl") }

// mark returns the path of the file that says that a run has ended.
func (f *folder) mark(part string) string { return filepath.Join(f.runs(), part+".done") }

// sameStudy returns an error unless a study with the description have can go on as s. A directory
// without finished runs can go on with other data and another version of the program.
func (s *Study) sameStudy(have []byte, f *folder) error {
	old, now := description{}, s.describe()
	if err := yaml.Unmarshal(have, &old); err != nil {
		return fmt.Errorf("compare: %w: %s: %v: use a new directory (--out)", ErrStudy, f.study(), err)
	}
	settings := func(d description) ([]byte, error) {
		d.Version, d.Data = "", nil
		return yaml.Marshal(d)
	}
	before, err := settings(old)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	after, err := settings(now)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if !bytes.Equal(before, after) {
		return fmt.Errorf("compare: %w: %s holds another comparison: use a new directory (--out), or the settings of that comparison to continue it", ErrStudy, f.dir)
	}
	ended, err := filepath.Glob(filepath.Join(f.runs(), "*.done"))
	if err != nil || len(ended) == 0 {
		return err
	}
	if old.Version != now.Version {
		return fmt.Errorf("compare: %w: another version of ppal (%s, this program is %s) began the comparison in %s: use a new directory (--out), or that version to continue it",
			ErrStudy, old.Version, now.Version, f.dir)
	}
	for _, before := range old.Data {
		for _, after := range now.Data {
			if before.Name == after.Name && before.SHA256 != after.SHA256 {
				return fmt.Errorf("compare: %w: %s has changed since the comparison in %s began (sha256 %.8s then, %.8s now): use a new directory (--out), or the earlier file to continue it",
					ErrStudy, after.Name, f.dir, before.SHA256, after.SHA256)
			}
		}
	}
	return nil
}

// ended describes a run that has ended. It is the contents of the run's mark, which the comparison
// writes after the records are on the disk.
type ended struct {
	Records int             `json:"records"`           // number of records
	SHA256  string          `json:"sha256"`            // of the file of the records
	Summary *rundir.Summary `json:"summary,omitempty"` // see Run
	// the reason of an early stop, such as a number that is not finite; empty: no early stop
	Failure string `json:"failure,omitempty"`
}

// finished returns the records and the mark of a run that has ended. ok is false if the run must be
// done: the mark is missing or damaged, or the records are not the records that the mark describes.
func (f *folder) finished(part string) (records []trainer.Record, e ended, ok bool) {
	if mark, err := os.ReadFile(f.mark(part)); err != nil || json.Unmarshal(mark, &e) != nil {
		return nil, e, false
	}
	if sum, err := sumOf(f.records(part)); err != nil || sum != e.SHA256 {
		return nil, e, false
	}
	records, err := rundir.ReadMetrics(f.records(part))
	if err != nil || len(records) != e.Records || len(records) == 0 {
		return nil, e, false
	}
	return records, e, true
}

// finish makes the file part the records of a run, and then writes the mark e. After a power
// failure, a mark describes complete records.
func (f *folder) finish(name, part string, e ended) error {
	records, err := rundir.ReadMetrics(part)
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return fmt.Errorf("compare: %s: no records", part)
	}
	sum, err := sumOf(part)
	if err != nil {
		return err
	}
	if err := atomicfile.Move(part, f.records(name)); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	e.Records, e.SHA256 = len(records), sum
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	return rundir.WriteFile(f.mark(name), append(text, '\n'))
}

// sumOf returns the SHA-256 of a file in hexadecimal.
func sumOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("compare: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
