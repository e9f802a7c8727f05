package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"ppal/internal/disk"
	"ppal/internal/rundir"
	"ppal/trainer/session/results"
)

// comparisonFolder is the directory of a comparison. It is the Store of the runs.
type comparisonFolder struct{ dir string }

// claim returns the directory, which is locked, after it has checked that the directory is empty or
// belongs to the same comparison with the same data and version of the program. The comparison gets
// the seeds that the directory has, before its own.
func (s *Comparison) claim(dir string) (*comparisonFolder, error) {
	f := &comparisonFolder{dir}
	if old, err := f.describe(); err == nil {
		if err := s.join(old.Seeds); err != nil {
			return nil, err
		}
	}
	content, err := s.content()
	if err != nil {
		return nil, err
	}
	d := description{File: comparisonFile, Content: content, Refused: ErrComparison, Continues: func(other []byte) error { return s.same(other, f) }}
	if err := d.claim(dir); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	if err := os.MkdirAll(f.runs(), 0o755); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return f, nil
}

// abandon removes what claim made, unless a run has ended or another process is at work.
func (f *comparisonFolder) abandon() error {
	entries, err := os.ReadDir(f.runs())
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	for _, e := range entries {
		lock, begun := strings.CutSuffix(e.Name(), ".lock")
		if !begun {
			begun = strings.HasSuffix(e.Name(), ".part")
		} else if release, ok, err := f.Claim(lock); !ok || err != nil || release() != nil {
			return err
		}
		if !begun {
			return nil
		}
	}
	if err := errors.Join(os.RemoveAll(f.runs()), description{File: comparisonFile, Refused: ErrComparison}.release(f.dir)); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	return nil
}

// The names of the files with the description of the study, and with the points of a search.
const (
	comparisonFile = "study.yaml"
	searchFile     = "search.jsonl"
)

// study returns the path of the description of the study, and runs the folder of the runs.
func (f *comparisonFolder) study() string { return filepath.Join(f.dir, comparisonFile) }
func (f *comparisonFolder) runs() string  { return filepath.Join(f.dir, "runs") }

// records returns the path of the records of a run.
func (f *comparisonFolder) records(part string) string { return filepath.Join(f.runs(), part+".jsonl") }

// unfinished returns the path of the records of a run that has not ended.
func (f *comparisonFolder) unfinished(part string) string { return f.records(part) + ".part" }

// mark returns the path of the file that says that a run has ended.
func (f *comparisonFolder) mark(part string) string { return filepath.Join(f.runs(), part+".done") }

// Claim implements Shared: it locks the run.
func (f *comparisonFolder) Claim(part string) (release func() error, ok bool, err error) {
	lock, err := disk.LockFile(filepath.Join(f.runs(), part+".lock"))
	switch {
	case errors.Is(err, disk.ErrHeld):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return lock.Release, true, nil
}

// describe returns the description of the study in the directory.
func (f *comparisonFolder) describe() (d comparisonDescription, err error) {
	text, err := os.ReadFile(f.study())
	if err != nil {
		return d, fmt.Errorf("compare: %w", err)
	}
	if err := yaml.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("compare: %s: %w: %v", f.study(), ErrComparison, err)
	}
	return d, nil
}

// join puts the seeds of an earlier comparison before the study's own.
func (s *Comparison) join(earlier []uint64) error {
	seeds := slices.Clone(earlier)
	for _, seed := range s.Seeds {
		if !slices.Contains(seeds, seed) {
			seeds = append(seeds, seed)
		}
	}
	searched := slices.ContainsFunc(s.Contenders, func(c Contender) bool { return c.Grid != nil })
	if searched && len(earlier) == 1 && len(seeds) > 1 {
		return fmt.Errorf("compare: %w: the search for settings (--tune) ran on one seed, and with more seeds it takes two: use a new directory (--out)", ErrComparison)
	}
	s.Seeds = seeds
	return nil
}

// same returns an error unless a comparison with the description have can go on as s. A directory
// without finished runs can go on with other data and another version of the program.
func (s *Comparison) same(have []byte, f *comparisonFolder) error {
	old, now := comparisonDescription{}, s.describe()
	if err := yaml.Unmarshal(have, &old); err != nil {
		return fmt.Errorf("%w: %s: %v: use a new directory (--out)", ErrComparison, f.study(), err)
	}
	settings := func(d comparisonDescription) ([]byte, error) {
		d.Version, d.Data, d.Seeds = "", nil, nil
		return yaml.Marshal(d)
	}
	before, err := settings(old)
	if err != nil {
		return err
	}
	after, err := settings(now)
	if err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		return fmt.Errorf("%w: %s holds another comparison: use a new directory (--out), or the settings of that comparison to continue it", ErrComparison, f.dir)
	}
	ended, err := filepath.Glob(filepath.Join(f.runs(), "*.done"))
	if err != nil || len(ended) == 0 {
		return err
	}
	if old.Version != now.Version {
		return fmt.Errorf("%w: another version of ppal (%s, this program is %s) began the comparison in %s: use a new directory (--out), or that version to continue it",
			ErrComparison, old.Version, now.Version, f.dir)
	}
	for _, before := range old.Data {
		for _, after := range now.Data {
			if before.Name == after.Name && before.SHA256 != after.SHA256 {
				return fmt.Errorf("%w: %s has changed since the comparison in %s began (sha256 %.8s then, %.8s now): use a new directory (--out), or the earlier file to continue it",
					ErrComparison, after.Name, f.dir, before.SHA256, after.SHA256)
			}
		}
	}
	return nil
}

// ended describes a run that has ended. It is the contents of the run's mark, which the comparison
// writes after the records are on the disk.
type ended struct {
	Records int              `json:"records"`           // number of records
	SHA256  string           `json:"sha256"`            // of the file of the records
	Summary *results.Summary `json:"summary,omitempty"` // see ComparedRun
	// the reason of an early stop, such as a number that is not finite; empty: no early stop
	Failure string `json:"failure,omitempty"`
}

// Find implements Store: it returns the records, the summary and the failure of a run that
// has ended. ok is false if the run must be done: the mark is missing or damaged, or the records
// are not the records that the mark describes.
func (f *comparisonFolder) Find(part string) (r *ComparedRun, ok bool) {
	var e ended
	if mark, err := os.ReadFile(f.mark(part)); err != nil || json.Unmarshal(mark, &e) != nil {
		return nil, false
	}
	if sum, err := sumOf(f.records(part)); err != nil || sum != e.SHA256 {
		return nil, false
	}
	records, err := rundir.ReadMetrics(f.records(part))
	if err != nil || len(records) != e.Records || len(records) == 0 {
		return nil, false
	}
	return &ComparedRun{Records: records, Summary: e.Summary, Failure: e.Failure}, true
}

// Add implements Store: it reads the records of a run that has ended from the file
// unfinished, makes the file the records of the run, and then writes the mark. After a power
// failure, a mark describes complete records.
func (f *comparisonFolder) Add(part string, r *ComparedRun) error {
	var err error
	if r.Records, err = rundir.ReadMetrics(f.unfinished(part)); err != nil {
		return err
	}
	if len(r.Records) == 0 {
		return fmt.Errorf("compare: %s: no records", f.unfinished(part))
	}
	sum, err := sumOf(f.unfinished(part))
	if err != nil {
		return err
	}
	if err := disk.Move(f.unfinished(part), f.records(part)); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	text, err := json.Marshal(ended{Records: len(r.Records), SHA256: sum, Summary: r.Summary, Failure: r.Failure})
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	return rundir.WriteFile(f.mark(part), append(text, '\n'))
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
