package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
)

// EveryFault gives each kind of fault at each operation, and ends with the caller's loop.
func TestEveryFault(t *testing.T) {
	var got []string
	for f := range EveryFault() {
		_ = f.Run(func() error { return Local.Remove(filepath.Join(t.TempDir(), "none")) })
		got = append(got, fmt.Sprint(f.At, f.Once, f.Short, f.Torn))
	}
	var want []string
	for _, kind := range []string{"false false false", "false true false", "false false true", "true false false", "true true false", "true false true"} {
		want = append(want, "1 "+kind, "2 "+kind)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for range EveryFault() {
		break
	}
}

// If a temporary name exists, Write takes another one.
func TestTakenName(t *testing.T) {
	f := &Faults{At: 4, Once: true, Err: fs.ErrExist}
	if err := f.Run(func() error { return Write(filepath.Join(t.TempDir(), "file"), nil, 0o600) }); err != nil {
		t.Error(err)
	}
	if hasUnnamed(t.TempDir()) && !slices.Equal(f.Calls[3:6], []string{"link .file", "link .file", "rename .file file"}) {
		t.Error(f)
	}
}

// Discard closes the file once, removes its name if there is one, and reports that this fails.
func TestDiscardOrder(t *testing.T) {
	if !hasUnnamed(t.TempDir()) {
		t.Skip("the file system has no files without names")
	}
	for _, c := range []struct {
		at    int
		calls []string
	}{
		{2, []string{"write file", "close file"}},
		{4, []string{"write file", "sync file", "link .file", "close file"}},
		{5, []string{"write file", "sync file", "link .file", "rename .file file", "close file", "remove .file"}},
		{6, []string{"write file", "sync file", "link .file", "rename .file file", "close file"}},
	} {
		f := &Faults{At: c.at, Once: true}
		err := f.Run(func() error { return Write(filepath.Join(t.TempDir(), "file"), nil, 0o600) })
		if diff := cmp.Diff(append([]string{"create file"}, c.calls...), f.Calls); diff != "" || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v, %s", err, diff)
		}
	}
	f := &Faults{At: 2, Once: true}
	err := f.Run(func() error {
		file := require.Value(Create(filepath.Join(t.TempDir(), "file"), 0o600))(t)
		return file.Discard()
	})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v: %v", f, err)
	}
}
