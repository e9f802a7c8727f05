//go:build linux

package mapped

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"ppal/internal/relay"
)

// touch reads the elements in a worker and returns the value of its panic, or nil.
func touch(x []float64) any {
	var r relay.Relay
	var p *relay.Panic
	if errors.As(r.Do(func() error {
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		sink = sum
		return nil
	}), &p) {
		return p.Value
	}
	return nil
}

var sink float64

// A fault at a page of a file that was shortened is the error of this file, also after the Dir was
// closed. Other panics are not.
func TestFault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	keep(t, newDir(t, 0), path, make([]float64, 100_000), []int32{1}, "")
	d := newDir(t, 0)
	k, err := d.openKept(path, anyRecord)
	if err != nil {
		t.Fatal(err)
	}
	var x []float64
	if err := k.Read(Of(&x, 100_000)); err != nil {
		t.Fatal(err)
	}
	if v := touch(x); v != nil {
		t.Fatal(v)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	v := touch(x)
	for range 2 {
		if f := Fault(v); f == nil || f.Path != path {
			t.Errorf("%v: %v, want %s", v, f, path)
		}
		if err := d.Check(); err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var r relay.Relay
	var none *mapping
	var p *relay.Panic
	if !errors.As(r.Do(func() error { none.path = ""; return nil }), &p) || Fault(p.Value) != nil || Fault("text") != nil {
		t.Errorf("a nil pointer: %v", p)
	}
}

// An address belongs to the last file that was mapped there.
func TestMappings(t *testing.T) {
	var m mappings
	memory := make([]byte, 100)
	m.add(memory[:60], "first")
	m.add(memory[60:], "second")
	m.add(memory[50:70], "third")
	at := uintptr(unsafe.Pointer(&memory[0]))
	for offset, want := range map[uintptr]string{10: "", 50: "third", 69: "third", 70: "", 100: ""} {
		got := ""
		if e := m.find(at + offset); e != nil {
			got = e.Path
		}
		if got != want {
			t.Errorf("%d: %q, want %q", offset, got, want)
		}
	}
}

// Check finds a kept file that was changed or shortened since it was opened or written. A kept file
// is read-only.
func TestCheck(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"": nil,
		"zeros": func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt(make([]byte, 8), 800)
			return errors.Join(err, f.Close())
		},
		"shorter":  func(path string) error { return os.Truncate(path, 5000) },
		"replaced": func(path string) error { return os.Rename(path, path+"-") },
	} {
		path := filepath.Join(t.TempDir(), "rows")
		x := make([]float64, 1000)
		for i := range x {
			x[i] = float64(i)
		}
		writer, reader := newDir(t, 0), newDir(t, 0)
		keep(t, writer, path, x, []int32{1}, "")
		if _, err := reader.openKept(path, anyRecord); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o400 {
			t.Errorf("%v, %v", info, err)
		}
		if change != nil {
			if err := errors.Join(os.Chmod(path, 0o600), change(path)); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range []*Dir{writer, reader} {
			err := d.Check()
			if damaged := name == "zeros" || name == "shorter"; errors.Is(err, ErrDamaged) != damaged || (err != nil) != damaged {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if err := (*Dir)(nil).Check(); err != nil {
		t.Error(err)
	}
}
