package study

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppal/internal/disk"
	"ppal/internal/require"
)

// A directory is locked during the work, and free afterwards, also after an error.
func TestLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	broken := errors.New("broken")
	for _, want := range []error{broken, nil} {
		err := Locked(dir, func() error {
			if err := Locked(dir, func() error { t.Error("two works at a time"); return nil }); !errors.Is(err, disk.ErrHeld) {
				t.Errorf("%v, want ErrHeld", err)
			}
			return want
		})
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v are left", entries, err)
	}
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	if err := Locked(file, func() error { return nil }); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("a file as directory: %v", err)
	}
}

// A description is written into an empty directory and compared with the description that is there.
func TestClaim(t *testing.T) {
	dir := t.TempDir()
	refused, other := errors.New("refused"), errors.New("another study")
	var compared []string
	answer := other
	claim := func(content string) error {
		return Locked(dir, func() error {
			return description{File: "study.yaml", Content: []byte(content), Refused: refused, Continues: func(have []byte) error {
				compared = append(compared, string(have))
				return answer
			}}.claim(dir)
		})
	}
	written := func() string {
		data, err := os.ReadFile(filepath.Join(dir, "study.yaml"))
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	for range 2 {
		if err := claim("a"); err != nil || written() != "a" || compared != nil {
			t.Errorf("%v, %q, compared %q", err, written(), compared)
		}
	}
	if err := claim("b"); !errors.Is(err, other) || written() != "a" || strings.Join(compared, "") != "a" {
		t.Errorf("%v, %q, compared %q", err, written(), compared)
	}
	answer = nil
	if err := claim("b"); err != nil || written() != "b" {
		t.Errorf("%v, %q", err, written())
	}
	if err := (description{File: "none/study.yaml"}).claim(t.TempDir()); err == nil {
		t.Error("a description that cannot be written")
	}
	if err := (description{File: "."}).claim(dir); err == nil {
		t.Error("a description that cannot be read")
	}
	require.NoError(t, os.Rename(filepath.Join(dir, "study.yaml"), filepath.Join(dir, "notes")))
	if err := claim("a"); !errors.Is(err, refused) || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("%v, want that the directory is not empty", err)
	}
}

// A short work waits for another one, and gives up when the directory is held for long.
func TestPatient(t *testing.T) {
	defer func(before time.Duration) { patience = before }(patience)
	dir := t.TempDir()
	lock := require.Value(disk.LockFolder(dir))(t)
	patience = time.Millisecond
	if err := patient(t.Context(), dir, func() error { return nil }); !errors.Is(err, disk.ErrHeld) {
		t.Errorf("held: %v", err)
	}
	patience = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := patient(ctx, dir, func() error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	time.AfterFunc(look/2, func() {
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	})
	if err := patient(t.Context(), dir, func() error { return nil }); err != nil {
		t.Errorf("released: %v", err)
	}
}
