package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"ppal/internal/disk"
	"ppal/internal/relay"
	"ppal/trainer/session/results"
)

// WriteSummary writes the summary atomically. It is the last file of a run. WriteSummary sets the
// schema and the checksums: of the run's other files, and of the summary itself. If a file cannot
// be read, WriteSummary writes the summary without checksums of files, and returns the error.
func (d Dir) WriteSummary(s *results.Summary) error { return d.BeginSummary()(s) }

// BeginSummary begins to compute the checksums of the run's files, which must be complete, and
// returns the function that writes summary.json with them as WriteSummary does.
func (d Dir) BeginSummary() (write func(s *results.Summary) error) {
	sums := relay.Start(d.checksums)
	return func(s *results.Summary) (err error) {
		s.Files, err = sums()
		return errors.Join(WriteSummary(d.Summary(), s), err)
	}
}

// WriteSummary writes the summary atomically, with its schema and its checksum.
func WriteSummary(path string, s *results.Summary) error {
	if s.Warnings == nil {
		s.Warnings = []string{}
	}
	if s.Notes == nil {
		s.Notes = []string{}
	}
	s.Schema, s.Checksum = Schema, disk.BlankSum
	text, err := indented(s)
	if err != nil {
		return fmt.Errorf("rundir: the summary: %w", err)
	}
	s.Checksum = disk.Seal(text)
	return WriteFile(path, text)
}

// indented returns the JSON of a file for people: "fpr <= 0.05" stays readable.
func indented(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(v)
	return out.Bytes(), err
}

// Sealed returns the paths of the files whose checksums a summary has. Plots and report.html are
// not among them, because they can be drawn again from the other files.
func (d Dir) Sealed() []string {
	return []string{d.Config(), d.Preparation(), d.Metrics(), d.Model(), d.Best(), d.Infeasible(), d.ModelDescription(), d.Details(), d.Choice(),
		filepath.Join(string(d), rowsName), filepath.Join(string(d), rowsCompressed)}
}

// checksums returns the SHA-256 of the run's files except for summary.json, in hex, by name. A
// missing file has no checksum.
func (d Dir) checksums() (map[string]string, error) {
	sums := map[string]string{}
	for _, path := range d.Sealed() {
		sum, err := disk.SumFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("rundir: %w", err)
		default:
			sums[filepath.Base(path)] = sum
		}
	}
	return sums, nil
}

// Seal holds the checksums of a run's files. The zero value has none.
type Seal struct{ disk.Sums }

// Read reads a file of the run's directory, and compares the file with its checksum. The error
// wraps disk.ErrChanged for a file of another run or a damaged file, disk.ErrKind or disk.ErrSize,
// or comes from the file system.
func (s Seal) Read(path string) ([]byte, error) {
	data, err := disk.Read(path)
	if err == nil {
		err = s.Check(path, data)
	}
	if err != nil {
		return nil, fmt.Errorf("rundir: %w", err)
	}
	return data, nil
}

// ReadSealed reads a summary.json and its checksums. closed is false for a summary without a
// checksum of its own, which an earlier version of ppal wrote. With an error that wraps
// disk.ErrChanged, ReadSealed also returns what the changed file says.
func ReadSealed(path string) (s results.Summary, sealed Seal, closed bool, err error) {
	data, err := disk.Read(path)
	if err != nil {
		return s, sealed, false, fmt.Errorf("rundir: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, sealed, false, fmt.Errorf("rundir: %s: %w", path, err)
	}
	if sealed.Sums, closed, err = disk.SumsOf(path, data); err != nil {
		err = fmt.Errorf("rundir: %w", err)
	}
	return s, sealed, closed, err
}
