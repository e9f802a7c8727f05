//go:build unix

package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppal/internal/disk"
	"ppal/internal/require"
)

// readers lists every reader of the directory's files, by the name of the file.
func (d Dir) readers() map[string][]func() error {
	return map[string][]func() error{
		"config.yaml":      {func() error { _, _, err := d.ReadProvenance(); return err }},
		"preparation.yaml": {func() error { _, err := d.ReadPreparation(Seal{}); return err }},
		"model.json":       {func() error { _, err := d.ReadModel(); return err }},
		"summary.json":     {func() error { _, err := ReadSummary(d.Summary()); return err }},
		"details.json":     {func() error { _, err := d.ReadDetails(Seal{}); return err }},
		"rows.csv":         {func() error { _, err := d.ReadRows("rows.csv"); return err }},
		"metrics.jsonl": {
			func() error { _, err := ReadMetrics(d.Metrics()); return err },
			func() error { _, err := LastRecord(d.Metrics()); return err },
			func() error { _, err := d.ResumeMetrics(1, ""); return err },
		},
	}
}

// No reader of a run's directory waits for a named pipe, reads a device or fills the memory.
func TestKindsOfFiles(t *testing.T) {
	for what, place := range map[string]struct {
		want error
		put  func(path string) error
	}{
		"pipe":           {disk.ErrKind, func(path string) error { return unix.Mkfifo(path, 0o600) }},
		"device":         {disk.ErrKind, func(path string) error { return os.Symlink("/dev/zero", path) }},
		"directory":      {disk.ErrKind, func(path string) error { return os.Mkdir(path, 0o700) }},
		"file too large": {disk.ErrSize, func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) }},
		"link to a pipe": {disk.ErrKind, func(path string) error {
			return errors.Join(unix.Mkfifo(path+".pipe", 0o600), os.Symlink(path+".pipe", path))
		}},
		"link to nothing": {os.ErrNotExist, func(path string) error { return os.Symlink("nothing", path) }},
	} {
		d := Dir(t.TempDir())
		for name, list := range d.readers() {
			path := filepath.Join(string(d), name)
			require.NoError(t, place.put(path))
			for k, read := range list {
				err := read()
				if name == "metrics.jsonl" && k == 2 && (what == "file too large" || what == "directory") {
					continue // ResumeMetrics reads as much as the checkpoint says; no directory opens for writing
				}
				if incomplete := what == "link to nothing" && (name == "model.json" && errors.Is(err, ErrIncomplete) || name == "details.json"); !errors.Is(err, place.want) && !incomplete {
					t.Errorf("%s in place of %s: %v", what, name, err)
				}
			}
		}
	}
}

// The packages that read a run's directory open its files by package disk only.
func TestOneReader(t *testing.T) {
	opens := regexp.MustCompile(`os\.(Open|ReadFile)\(|os\.OpenFile\(`)
	for folder, may := range map[string][]string{
		".": {"metrics.go", "rundir.go", "checkpoint_file.go"}, "../../trainer/session/verify": nil, "../report": nil, "../../models": nil, "../../models/predictor": nil,
	} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || files == nil {
			t.Fatal(folder, err)
		}
		for _, file := range files {
			text := require.Value(os.ReadFile(file))(t)
			for _, line := range strings.Split(string(text), "\n") {
				writes := strings.Contains(line, "O_WRONLY") || strings.Contains(line, "os.Open(dir)")
				if strings.HasSuffix(file, "_test.go") || strings.Contains(line, "/proc/self") || !opens.MatchString(line) {
					continue
				}
				if known := len(may) > 0 && strings.Contains(strings.Join(may, " "), filepath.Base(file)); !known || !writes {
					t.Errorf("%s opens a file by itself: %s", file, strings.TrimSpace(line))
				}
			}
		}
	}
}
