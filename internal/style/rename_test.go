package style

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// TestRenames checks that files are renamed only by the packages that sync the file before and the
// directory after. A rename without a sync can leave an empty file after a power failure.
func TestRenames(t *testing.T) {
	allowed, found := []string{"internal/atomicfile/atomicfile.go", "internal/atomicfile/system.go", "internal/checkpoint/file.go"}, []string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && (bytes.Contains(text, []byte("os.Rename")) || bytes.Contains(text, []byte("Disk.Rename"))) {
			path, err = filepath.Rel(root, path)
			found = append(found, filepath.ToSlash(path))
		}
		return err
	})
	require.NoError(t, err)
	if !slices.Equal(found, allowed) {
		t.Errorf("os.Rename or Disk.Rename in %q, want %q: use package atomicfile", found, allowed)
	}
}
