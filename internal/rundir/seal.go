package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WriteSummary writes the summary atomically. It is the last file of a run. WriteSummary sets the
// schema and the checksums: of the run's other files, and of the summary itself. If a file cannot
// be read, WriteSummary writes the summary without checksums of files, and returns the error.
func (d Dir) WriteSummary(s *Summary) error {
	sums, err := d.Checksums()
	s.Files = sums
	return errors.Join(s.Write(d.Summary()), err)
}

// Write writes the summary atomically, with its schema and its checksum.
func (s *Summary) Write(path string) error {
	if s.Warnings == nil {
		s.Warnings = []string{}
	}
	if s.Notes == nil {
		s.Notes = []string{}
	}
	s.Schema, s.Checksum = Schema, noChecksum
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // "fpr <= 0.05" stays readable
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(s); err != nil {
		return fmt.Errorf("rundir: the summary: %w", err)
	}
	text := out.Bytes()
	s.Checksum = SHA256(text)
	copy(text[bytes.LastIndex(text, []byte(noChecksum)):], s.Checksum)
	return WriteFile(path, text)
}

// noChecksum stands for the digits of a checksum while the checksum is computed.
var noChecksum = strings.Repeat("0", 64)

// sealed returns the names of the files whose checksums a summary has. Plots and reports are not
// among them, because they can be drawn again.
func (d Dir) sealed() []string {
	return []string{d.Config(), d.Preparation(), d.Metrics(), d.Model(), d.Best(), d.Infeasible(), d.ModelDescription(),
		filepath.Join(string(d), rowsName), filepath.Join(string(d), rowsCompressed)}
}

// Checksums returns the SHA-256 of the run's files except for summary.json, in hex, by name. A
// missing file has no checksum.
func (d Dir) Checksums() (map[string]string, error) {
	sums := map[string]string{}
	for _, path := range d.sealed() {
		data, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("rundir: %w", err)
		default:
			sums[filepath.Base(path)] = SHA256(data)
		}
	}
	return sums, nil
}

// CheckSummary reports whether summary.json has the checksum that it states. has is false for a
// summary without a checksum, which an earlier version of ppal wrote.
func (d Dir) CheckSummary() (has, ok bool, err error) {
	text, err := os.ReadFile(d.Summary())
	if err != nil {
		return false, false, fmt.Errorf("rundir: %w", err)
	}
	var s struct {
		Checksum string `json:"checksum"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return false, false, fmt.Errorf("rundir: %s: %w", d.Summary(), err)
	}
	if s.Checksum == "" {
		return false, false, nil
	}
	at := bytes.LastIndex(text, []byte(s.Checksum))
	if at < 0 || len(s.Checksum) != len(noChecksum) {
		return true, false, nil
	}
	copy(text[at:], noChecksum)
	return true, SHA256(text) == s.Checksum, nil
}
