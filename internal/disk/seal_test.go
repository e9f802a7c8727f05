package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
)

// closed returns a JSON text with the checksums of files and its own.
func closed(files map[string]string) []byte {
	var list []string
	for name, content := range files {
		list = append(list, fmt.Sprintf("%q:%q", name, Sum([]byte(content))))
	}
	mostText := []byte(fmt.Sprintf(`{"files":{%s},"checksum":%q}`, strings.Join(list, ","), BlankSum))
	Seal(mostText)
	return mostText
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

// A changed byte anywhere in a closed text is found, and a text without a checksum is not closed.
func TestSumsOf(t *testing.T) {
	mostText := closed(map[string]string{"a": "1"})
	s, has, err := SumsOf("dir/x.json", mostText)
	if err != nil || !has || !s.Has("dir/a") || s.Has("dir/b") {
		t.Fatal(s, has, err)
	}
	if err := s.Check("dir/a", []byte("1")); err != nil {
		t.Error(err)
	}
	if err := s.Check("dir/b", []byte("2")); err != nil {
		t.Error(err)
	}
	if err := s.Check("dir/a", []byte("2")); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "dir/a: ") || !strings.Contains(err.Error(), "x.json") {
		t.Error(err)
	}
	for i := range mostText {
		changed := append([]byte{}, mostText...)
		changed[i] ^= 1
		if _, _, err := SumsOf("x.json", changed); err == nil {
			t.Errorf("byte %d: no error for %s", i, changed)
		}
	}
	if _, has, err := SumsOf("x.json", []byte(`{"status":"x"}`)); has || err != nil {
		t.Error(has, err)
	}
	if _, _, err := SumsOf("x.json", []byte(`{"checksum":""}`)); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}

// ReadBeside compares a file of weights with model.json, or else with summary.json, beside it.
func TestReadBeside(t *testing.T) {
	dir := t.TempDir()
	weights, other := filepath.Join(dir, "w.safetensors"), filepath.Join(dir, "b.safetensors")
	write(t, weights, []byte("w"))
	write(t, other, []byte("b"))
	check := func(what, path string, want error) {
		t.Helper()
		if _, err := ReadBeside(path); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	check("no descriptions", weights, nil)
	write(t, filepath.Join(dir, SummaryName), closed(map[string]string{"w.safetensors": "old", "b.safetensors": "b"}))
	check("other weights", weights, ErrChanged)
	check("best weights", other, nil)
	write(t, filepath.Join(dir, modelName), closed(map[string]string{"w.safetensors": "w"}))
	check("weights of model.json", weights, nil)
	write(t, weights, []byte("x"))
	check("changed weights", weights, ErrChanged)
	write(t, weights, []byte("w"))
	write(t, filepath.Join(dir, modelName), []byte(strings.Replace(string(closed(map[string]string{"w.safetensors": "w"})), "files", "filez", 1)))
	check("changed model.json", weights, ErrChanged)
	write(t, filepath.Join(dir, modelName), []byte("of another program"))
	check("model.json of another program", weights, ErrChanged)
	check("no file", filepath.Join(dir, "none"), os.ErrNotExist)
}

// Read takes a regular file, or a link to one, up to the size that the name allows.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, modelName)
	write(t, path, []byte("text"))
	link := filepath.Join(dir, "config.yaml")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{path, link} {
		if data, err := Read(name); err != nil || string(data) != "text" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if _, err := Read(dir); !errors.Is(err, ErrKind) {
		t.Errorf("a directory: %v", err)
	}
	for name, limit := range map[string]int64{modelName: mostText, "x": mostOther, "details.json": mostDetails, "metrics.jsonl": MostRecords, "w.safetensors": MostWeights, "checkpoint": MostState} {
		path := filepath.Join(t.TempDir(), name)
		write(t, path, nil)
		if err := os.Truncate(path, limit+1); err != nil { // a file with a hole takes no space
			t.Skip(err)
		}
		if _, err := Read(path); !errors.Is(err, ErrSize) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	require.NoError(t, os.Truncate(path, 5))
	if _, err := ReadUpTo(path, 4); !errors.Is(err, ErrSize) {
		t.Error(err)
	}
	if _, err := ReadUpTo(path, 5); err != nil {
		t.Error(err)
	}
}
