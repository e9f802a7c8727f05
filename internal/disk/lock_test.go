package disk_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ppal/internal/disk"
	"ppal/internal/require"
)

// holdVariable makes this test program hold a lock until the program is killed.
const holdVariable = "PPAL_TEST_HOLD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdVariable); dir != "" {
		l, err := disk.LockFolder(dir)
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString("held\n")
		time.Sleep(time.Hour) // select {} would be a deadlock, which ends the program
		runtime.KeepAlive(l)
	}
	os.Exit(m.Run())
}

func TestTake(t *testing.T) {
	dir := t.TempDir()
	l, err := disk.LockFolder(dir)
	require.NoError(t, err)
	if _, err := disk.LockFolder(dir); !errors.Is(err, disk.ErrHeld) {
		t.Errorf("the second lock: %v, want ErrHeld", err)
	}
	if disk.Unlocked(dir) {
		t.Error("the held lock is free")
	}
	for range 2 {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("after Release: %v, %v, want an empty directory", entries, err)
	}
	l, err = disk.LockFolder(dir)
	if err != nil {
		t.Fatalf("after Release: %v", err)
	}
	require.NoError(t, os.RemoveAll(dir))
	if err := l.Release(); err != nil {
		t.Errorf("in a removed directory: %v", err)
	}
	if _, err := disk.LockFolder(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// A process that is killed leaves no lock.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), holdVariable+"="+dir)
	out := require.Value(holder.StdoutPipe())(t)
	require.NoError(t, holder.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := disk.LockFolder(dir); !errors.Is(err, disk.ErrHeld) {
		t.Errorf("held by another process: %v, want ErrHeld", err)
	}
	require.NoError(t, holder.Process.Kill())
	_ = holder.Wait()
	if _, err := os.Stat(filepath.Join(dir, disk.LockName)); err != nil || !disk.Unlocked(dir) {
		t.Errorf("the killed process still holds its lock, %v", err)
	}
	l, err := disk.LockFolder(dir)
	if err != nil {
		t.Fatalf("after the process was killed: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// A process that looks at a lock again and again keeps no other process from taking it.
func TestFreeDoesNotDisturb(t *testing.T) {
	dir := t.TempDir()
	if !disk.Unlocked(dir) {
		t.Error("a directory without a lock is not free")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("Free left %v, %v", entries, err)
	}
	stop := make(chan struct{})
	var looking sync.WaitGroup
	for range 2 {
		looking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					disk.Unlocked(dir)
					time.Sleep(100 * time.Microsecond)
				}
			}
		})
	}
	defer looking.Wait()
	defer close(stop)
	for range 200 {
		l, err := disk.LockFolder(dir)
		for again := 0; errors.Is(err, disk.ErrHeld) && again < 5; again++ { // a looker stands still on a busy machine
			l, err = disk.LockFolder(dir)
		}
		require.NoError(t, err)
		require.NoError(t, l.Release())
	}
}

// Many takers never hold the lock together, although each Release removes the file.
func TestExclusive(t *testing.T) {
	dir := t.TempDir()
	var holders, taken atomic.Int32
	var takers sync.WaitGroup
	for range 4 {
		takers.Go(func() {
			for range 200 {
				l, err := disk.LockFolder(dir)
				if errors.Is(err, disk.ErrHeld) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				taken.Add(1)
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d holders at the same time", n)
				}
				holders.Add(-1)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	takers.Wait()
	if taken.Load() == 0 {
		t.Error("no taker got the lock")
	}
}

// Release reports that the file cannot be removed, and closes the file once.
func TestRelease(t *testing.T) {
	var none *disk.Lock
	if err := none.Release(); err != nil {
		t.Errorf("no lock: %v", err)
	}
	dir := t.TempDir()
	l := require.Value(disk.LockFolder(dir))(t)
	name := filepath.Join(dir, disk.LockName)
	require.NoError(t, errors.Join(os.Remove(name), os.MkdirAll(filepath.Join(name, "full"), 0o755)))
	if err := l.Release(); err == nil || errors.Is(err, os.ErrClosed) {
		t.Errorf("a directory in the place of the file: %v, want an error of the file system", err)
	}
	if err := l.Release(); err != nil {
		t.Errorf("the second Release: %v", err)
	}
	if _, err := disk.LockFolder(dir); err == nil {
		t.Error("Take accepts a directory in the place of the file")
	}
}
