//go:build mpi

package cmd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppal/internal/require"
)

// If the disk is full before the run ends, process 0 says so and keeps the weights elsewhere, and
// all processes end.
func TestMPIFullDisk(t *testing.T) {
	disk, cache := t.TempDir(), t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=16m"); errors.Is(err, unix.EPERM) {
		t.Skip("mounting a small disk needs root")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, unix.MNT_DETACH)) })
	out := filepath.Join(disk, "run")
	cmd := mpirun(t, 3, append([]string{"train", "--quiet", "--allow-violation", "--threads", "1", "--iterations", "3000", "--tolerance", "0", "--record-every", "10", "--out", out},
		parityOn(fixedSteps...)...)...)
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	start(t, cmd)
	records(t, out, 2)
	fill(t, filepath.Join(disk, "other"))
	err := cmd.Wait()
	if got := text.String(); exitStatus(err) != exitFailed || !strings.Contains(got, "no space left on device") || strings.Count(got, "the weights are in "+cache) != 1 {
		t.Errorf("%v: %s", err, got)
	}
	if found, err := filepath.Glob(filepath.Join(cache, "ppal", "rescued", "*", "model.safetensors")); err != nil || len(found) != 1 {
		t.Errorf("rescued weights: %q, %v", found, err)
	}
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f := require.Value(os.Create(path))(t)
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, unix.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
