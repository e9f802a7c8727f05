package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, content := range []string{"a long first content", "second", ""} {
		require.NoError(t, Write(path, []byte(content), 0o600))
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Errorf("%q, %v, want %q", got, err, content)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: want the file alone", entries, err)
	}
	if err := Write(filepath.Join(dir, "none", "file"), nil, 0o600); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in no folder: %v", err)
	}
}

// Commit replaces the old file by the new one. Before Commit, the old file does not change.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	for _, commit := range []bool{false, true} {
		f := require.Value(Create(path, 0o644))(t)
		require.Value(f.Write([]byte("new")))(t)
		if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
			t.Errorf("before the end: %q, %v", got, err)
		}
		want := "old"
		if commit {
			want = "new"
			require.NoError(t, f.Commit())
		}
		for range 2 {
			if err := f.Discard(); err != nil {
				t.Error(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("commit %v: %q, %v", commit, got, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v: want the file alone", entries, err)
		}
	}
	if _, err := Create(filepath.Join(dir, "none", "file"), 0o600); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in no folder: %v", err)
	}
}

// DiscardAll removes the files that are not committed, and no others.
func TestDiscardAll(t *testing.T) {
	dir := t.TempDir()
	var files []*File
	for _, name := range []string{"whole", "part", "discarded", "other part"} {
		f := require.Value(Create(filepath.Join(dir, name), 0o600))(t)
		files = append(files, f)
	}
	require.NoError(t, errors.Join(files[0].Commit(), files[2].Discard()))
	DiscardAll()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || entries[0].Name() != "whole" {
		t.Errorf("%v, %v", entries, err)
	}
	if err := files[1].Commit(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a discarded file is committed: %v", err)
	}
	_, _ = files[1].Discard(), files[3].Discard()
	unfinished.Range(func(f, _ any) bool {
		t.Errorf("%s is not finished", f.(*File).path)
		return true
	})
}

// Write replaces the file by another file, which keeps the permissions, and then syncs the folder.
func TestOrder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o640))
	before := require.Value(os.Stat(path))(t)
	folder := []string{"open directory", "sync directory", "close directory"}
	for at, want := range [][]string{
		{"create file", "chmod file", "write file", "sync file", "link .file", "rename .file file", "close file"},
		{"create file", "open .file", "chmod .file", "write .file", "sync .file", "rename .file file", "close .file"},
	} {
		if at == 0 && !hasUnnamed(dir) {
			continue
		}
		f := refused(at)
		if err := f.Run(func() error { return Write(path, []byte("new"), 0o600) }); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(append(want, folder...), f.Calls); diff != "" {
			t.Error(diff)
		}
		after, err := os.Stat(path)
		if err != nil || os.SameFile(before, after) || after.Mode().Perm() != 0o640 {
			t.Errorf("%v, %v: want another file with the mode %v", after, err, before.Mode())
		}
		before = after
	}
}

// Whichever operation fails, Write reports the fault, and the file has its old or its new content.
// If nothing else fails, no other file stays.
func TestFaults(t *testing.T) {
	for f := range EveryFault() {
		dir := t.TempDir()
		path := filepath.Join(dir, "file")
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o640))
		err := f.Run(func() error { return Write(path, []byte("new"), 0o600) })
		if fails := f.Failed() && (f.At > 1 || !f.Once); fails != errors.Is(err, syscall.ENOSPC) || !fails && err != nil {
			t.Errorf("%v: %v", f, err) // a temporary name takes the place of none
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "new" && (string(text) != "old" || !f.Failed()) {
			t.Errorf("%v: %q, %v", f, text, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || f.Once && len(entries) != 1 {
			t.Errorf("%v: %v, %v: want the file alone", f, entries, err)
		}
	}
	unfinished.Range(func(f, _ any) bool {
		t.Errorf("%s is not finished", f.(*File).path)
		return true
	})
}

// The temporary file is beside the file, whatever TMPDIR says.
func TestTemporaryFile(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", elsewhere)
	err := refused(1).Run(func() error {
		f, err := Create(filepath.Join(dir, "file"), 0o600)
		if err != nil {
			return err
		}
		for folder, want := range map[string]int{dir: 1, elsewhere: 0} {
			if entries, err := os.ReadDir(folder); err != nil || len(entries) != want {
				t.Errorf("%s has %v, %v, want %d files", folder, entries, err, want)
			}
		}
		return f.Discard()
	})
	require.NoError(t, err)
}

func TestMove(t *testing.T) {
	want := []string{"open part", "sync part", "close part", "rename part file", "open directory", "sync directory", "close directory"}
	for f := range EveryFault() {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "part"), []byte("new"), 0o600))
		err := f.Run(func() error { return Move(filepath.Join(dir, "part"), filepath.Join(dir, "file")) })
		if f.Failed() != errors.Is(err, syscall.ENOSPC) || !f.Failed() && err != nil {
			t.Errorf("%v: %v", f, err)
		}
		if diff := cmp.Diff(want, f.Calls); !f.Failed() && diff != "" {
			t.Error(diff)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%v: %v, %v: want the file alone", f, entries, err)
		}
	}
	if err := Move(filepath.Join(t.TempDir(), "none"), filepath.Join(t.TempDir(), "file")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A link is replaced by a file. The target of the link does not change.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "file"), filepath.Join(dir, "target")
	require.NoError(t, errors.Join(os.WriteFile(target, []byte("precious"), 0o600), os.Symlink(target, path)))
	require.NoError(t, Write(path, []byte("new"), 0o600))
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v, want a file of the owner", info.Mode(), err)
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "precious" {
		t.Errorf("the target of the link: %q, %v", text, err)
	}
}

// Some file systems cannot sync a directory.
func TestFolderWithoutSync(t *testing.T) {
	for _, c := range []struct {
		err  error
		fine bool
	}{{nil, true}, {errors.ErrUnsupported, true}, {syscall.EINVAL, true}, {syscall.EIO, false}} {
		const at = 8
		f := &Faults{At: at, Once: true, Err: c.err}
		if c.err == nil {
			f.At = 0
		}
		path := filepath.Join(t.TempDir(), "file")
		if err := f.Run(func() error { return Write(path, nil, 0o600) }); (err == nil) != c.fine || f.Calls[at-1] != "sync directory" {
			t.Errorf("%v with %v: %v", f, c.err, err)
		}
	}
}

// A file cannot replace a directory: Commit reports that, and Write leaves no other file.
func TestDirectoryInPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "full"), 0o755))
	if err := Write(path, nil, 0o600); err == nil {
		t.Error("Write reports no error")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: want the directory alone", entries, err)
	}
}

func TestOpenShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	_, err := openShared(path, os.O_RDWR, 0)
	if failed := (*os.PathError)(nil); !errors.As(err, &failed) || failed.Path != path || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: error %v, want os.ErrNotExist with the whole path", err)
	}
	f := require.Value(openShared(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600))(t)
	defer f.Close()
	if f.Name() != path {
		t.Errorf("name %s, want %s", f.Name(), path)
	}
	_, err = f.WriteString("text")
	require.NoError(t, errors.Join(err, os.Rename(path, path+"b")))
	if data, err := os.ReadFile(path + "b"); string(data) != "text" {
		t.Errorf("the renamed file has %q, error %v", data, err)
	}
}
