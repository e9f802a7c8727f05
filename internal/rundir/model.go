package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ppal/internal/disk"
	"ppal/internal/option"
	"ppal/trainer/session/results"
)

// modelSchema is the version of the keys of model.json. A key that is removed or changes its
// meaning raises the version. A new key does not.
// Schema 1 had no checksums.
const modelSchema = 2

// ErrIncomplete says that a directory does not hold a complete run.
var ErrIncomplete = errors.New("not a complete run directory")

// ModelDescription returns the path of model.json.
func (d Dir) ModelDescription() string { return filepath.Join(string(d), "model.json") }

// WriteModel writes model.json, with the version of its keys and the checksums of the files that it
// names.
func (d Dir) WriteModel(m results.Model) error {
	m.Schema, m.Files = modelSchema, map[string]string{}
	for _, name := range parts(&m) {
		var err error
		if m.Files[name], err = disk.SumFile(filepath.Join(string(d), name)); err != nil {
			return fmt.Errorf("rundir: %w", err)
		}
	}
	text, err := ModelText(m)
	if err != nil {
		return err
	}
	return WriteFile(d.ModelDescription(), text)
}

// ModelText returns the content of model.json, with its checksum unless the schema has none.
func ModelText(m results.Model) ([]byte, error) {
	if m.Constraints == nil {
		m.Constraints = []string{}
	}
	if m.Checksum = ""; m.Schema > 1 {
		m.Checksum = disk.BlankSum
	}
	text, err := indented(m)
	if err != nil {
		return nil, fmt.Errorf("rundir: the model's description: %w", err)
	}
	if m.Checksum != "" {
		disk.Seal(text)
	}
	return text, nil
}

// parts returns the names of the files without which the model cannot be used.
func parts(m *results.Model) (names []string) {
	for _, name := range []string{m.Weights, m.Input.Preparation} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// ReadModel reads model.json. Errors wrap ErrIncomplete if the directory has none, or has the
// description of a later version, and disk.ErrChanged if the file has another checksum than it
// states.
func (d Dir) ReadModel() (results.Model, error) {
	m, _, err := d.ReadSealedModel()
	return m, err
}

// ReadSealedModel reads model.json, and the checksums in it: none in a file of an earlier version.
// The errors are those of ReadModel.
func (d Dir) ReadSealedModel() (m results.Model, sealed Seal, err error) {
	path := d.ModelDescription()
	data, err := Seal{}.Read(path)
	switch {
	case err == nil:
	case !errors.Is(err, os.ErrNotExist):
		return m, sealed, err
	case !exists(string(d)):
		return m, sealed, fmt.Errorf("rundir: %s: %w: there is no such directory", d, ErrIncomplete)
	case exists(d.Model()):
		return m, sealed, fmt.Errorf("rundir: %s: %w: an earlier version of ppal wrote it, without model.json; "+
			"`ppal train --config %s --init %s --iterations 0 --out NEW` writes a complete one with the same weights",
			d, ErrIncomplete, option.ShellWord(d.Config()), option.ShellWord(d.Model()))
	default:
		return m, sealed, fmt.Errorf("rundir: %s: %w: there is no model.json, which a run writes when its training has ended", d, ErrIncomplete)
	}
	return d.ParseModel(data)
}

// ParseModel returns what the content of model.json says, like ReadSealedModel.
func (d Dir) ParseModel(data []byte) (m results.Model, sealed Seal, err error) {
	path := d.ModelDescription()
	var closed bool
	if sealed.Sums, closed, err = disk.SumsOf(path, data); errors.Is(err, disk.ErrChanged) {
		return m, sealed, fmt.Errorf("rundir: %w", err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, sealed, fmt.Errorf("rundir: %s: %w: %w", path, ErrIncomplete, err)
	}
	if m.Schema < 1 || m.Schema > modelSchema {
		return m, sealed, fmt.Errorf("rundir: %s: %w: its schema is %d, this program reads schemas up to %d; use a newer ppal",
			path, ErrIncomplete, m.Schema, modelSchema)
	}
	for _, name := range append(parts(&m), m.Rows) {
		switch {
		case name != "" && (name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." || strings.ContainsAny(name, `/\`)):
			return m, sealed, fmt.Errorf("rundir: %s: %w: it names the file %q, which is not in the run's directory", path, ErrIncomplete, name)
		case m.Schema > 1 && name != m.Rows && !sealed.Has(name):
			return m, sealed, fmt.Errorf("rundir: %s: %w: it has no checksum of %s", path, disk.ErrChanged, name)
		}
	}
	if m.Schema > 1 && !closed {
		return m, sealed, fmt.Errorf("rundir: %s: %w: it has no checksum", path, disk.ErrChanged)
	}
	return m, sealed, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
