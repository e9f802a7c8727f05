package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/internal/disk"
	"ppal/internal/require"
	"ppal/internal/safetensors"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// example returns a checkpoint that differs for each iteration.
func example(iteration int) *Checkpoint {
	x := []float64{float64(iteration), 1. / 3, math.Inf(1), math.Copysign(0, -1), math.NaN()}
	return &Checkpoint{
		Program: "v1.2.3", Config: "c0ffee", Records: RecordPrefix{Bytes: 123, SHA256: "beef"}, Warnings: []string{"a <b>\n\"c\" é"},
		Spent: 3*time.Second + 7, At: problem.Point{Iteration: iteration, GradientEvaluations: 2 * iteration},
		State: &trainer.State{Method: "ppala", Numbers: map[string][]float64{"k": x, "none": {}},
			Vectors: map[string][]float64{"iterate": {1, 0.5, -2}, "fine": {0.1}}, Texts: map[string][]string{"run.warnings": {"w"}}},
	}
}

func sameBits(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }

func diff(want, got *Checkpoint) string {
	return cmp.Diff(want, got, cmp.Comparer(sameBits), cmp.AllowUnexported(problem.Point{}), cmpopts.IgnoreFields(Checkpoint{}, "Damaged"))
}

func TestWriteAndRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadCheckpoint(dir); !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("no file: %v", err)
	}
	w, name := &CheckpointWriter{Dir: dir}, filepath.Join(dir, CheckpointName)
	for k := range 4 {
		require.NoError(t, w.Write(example(k)))
		got, err := ReadCheckpoint(dir)
		require.NoError(t, err)
		if d := diff(example(k), got); d != "" {
			t.Errorf("checkpoint %d:\n%s", k, d)
		}
		if k == 0 { // no checkpoint before
			continue
		}
		whole, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, damage := range []func() error{
			func() error { return os.Remove(name) },
			func() error { return os.WriteFile(name, whole[:len(whole)-1], 0o644) },
			func() error { return os.WriteFile(name, make([]byte, len(whole)), 0o644) },
		} {
			require.NoError(t, damage())
			if got, err = ReadCheckpoint(dir); err != nil {
				t.Fatalf("the damaged checkpoint %d: %v", k, err)
			}
			before := []int{1: 0, 2: 1, 3: 1}[k] // the file of 2 was damaged
			if d := diff(example(before), got); d != "" {
				t.Errorf("the checkpoint before %d:\n%s", k, d)
			}
		}
		if k == 2 { // a process that resumes does not keep the damaged file
			w = &CheckpointWriter{Dir: dir}
		} else if err := os.WriteFile(name, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveCheckpoint(dir); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("after Remove: %v, %v", entries, err)
	}
}

// The vectors of a run in float32 take 4 bytes for each element.
func TestNarrow(t *testing.T) {
	data := require.Value(encodeCheckpoint(example(1)))(t)
	f := require.Value(safetensors.Read(bytes.NewReader(data)))(t)
	for _, tensor := range f.Tensors {
		want := map[string]safetensors.Dtype{"vectors.iterate": safetensors.F32, "vectors.fine": safetensors.F64}[tensor.Name]
		if want != "" && tensor.Dtype != want {
			t.Errorf("%s has the type %s, want %s", tensor.Name, tensor.Dtype, want)
		}
	}
}

// Every change of a single byte, every truncation, and a file of another kind is refused.
func TestDamaged(t *testing.T) {
	data := require.Value(encodeCheckpoint(example(5)))(t)
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1
		c, err := decodeCheckpoint(bad)
		if !errors.Is(err, ErrDamagedCheckpoint) && !errors.Is(err, ErrCheckpointVersion) {
			t.Fatalf("byte %d changed: %v, %v", i, c, err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("byte %d: more than one line: %v", i, err)
		}
		if _, err := decodeCheckpoint(data[:i]); !errors.Is(err, ErrDamagedCheckpoint) {
			t.Fatalf("%d bytes: %v", i, err)
		}
	}
	other := strings.Replace(string(data), fmt.Sprintf(`"version":"%d"`, CheckpointVersion), fmt.Sprintf(`"version":"%d"`, CheckpointVersion+1), 1) // of the same length
	if _, err := decodeCheckpoint([]byte(other)); !errors.Is(err, ErrCheckpointVersion) {
		t.Errorf("another version: %v", err)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, CheckpointName), data[:50], 0o644))
	if _, err := ReadCheckpoint(dir); !errors.Is(err, ErrDamagedCheckpoint) {
		t.Errorf("a truncated file: %v", err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, previousCheckpoint), data, 0o644))
	if got, err := ReadCheckpoint(dir); err != nil || got.At.Iteration != 5 || !got.Damaged {
		t.Errorf("a truncated file beside the previous checkpoint: %v, %v", got, err)
	}
}

// A file with a checksum that matches, but with contents that ppal does not write, is refused.
func TestForeign(t *testing.T) {
	forged := func(change func(f *safetensors.File)) []byte {
		data, err := encodeCheckpoint(example(5))
		require.NoError(t, err)
		f, err := safetensors.Read(bytes.NewReader(data))
		require.NoError(t, err)
		change(&f)
		if f.Metadata[keySum], err = stateSum(f); err != nil {
			t.Fatal(err)
		}
		if data, err = marshalState(f); err != nil {
			t.Fatal(err)
		}
		return data
	}
	if _, err := decodeCheckpoint(forged(func(f *safetensors.File) {
		f.Metadata[keyRecords], f.Metadata[keyIteration], f.Metadata[keyGradients] = "0", "0", "0"
	})); err != nil {
		t.Errorf("no records yet: %v", err)
	}
	for key, values := range map[string][]string{
		keyFormat: {"", "other"}, keyRecords: {"-1", "x", ""}, keyIteration: {"-1", "1.5"}, keyGradients: {"-1", "1e3"}, keySpent: {"3s"},
		keyWarnings: {"", "[1]"}, keyTexts: {"", "[]"},
	} {
		for _, value := range values {
			if c, err := decodeCheckpoint(forged(func(f *safetensors.File) { f.Metadata[key] = value })); !errors.Is(err, ErrDamagedCheckpoint) {
				t.Errorf("%s %q: %v, %v, want ErrDamagedCheckpoint", key, value, c, err)
			}
		}
	}
	other := safetensors.New("other", safetensors.F32, []int{1}, []float64{1})
	if _, err := decodeCheckpoint(forged(func(f *safetensors.File) { f.Tensors = append(f.Tensors, other) })); !errors.Is(err, ErrDamagedCheckpoint) {
		t.Errorf("unknown tensor: %v, want ErrDamagedCheckpoint", err)
	}
	// The previous checkpoint does not hide that another version of ppal wrote the last checkpoint.
	dir := t.TempDir()
	version := forged(func(f *safetensors.File) { f.Metadata[keyVersion] = "0" })
	for name, data := range map[string][]byte{CheckpointName: version, previousCheckpoint: forged(func(*safetensors.File) {})} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	if _, err := ReadCheckpoint(dir); !errors.Is(err, ErrCheckpointVersion) {
		t.Errorf("another version beside the previous checkpoint: %v, want ErrCheckpointVersion", err)
	}
}

// The contents are durable before the new file takes the name, and the last checkpoint keeps a
// name.
func TestOrder(t *testing.T) {
	dir, whole := t.TempDir(), []string{"open checkpoint.new", "write checkpoint.new", "sync checkpoint.new", "close checkpoint.new",
		"rename checkpoint checkpoint.previous", "rename checkpoint.new checkpoint", "open directory", "sync directory", "close directory"}
	for k := range 2 {
		f := &disk.Faults{}
		require.NoError(t, f.Run(func() error { return (&CheckpointWriter{Dir: dir}).Write(example(k)) }))
		if d := cmp.Diff(whole, f.Calls); d != "" {
			t.Errorf("checkpoint %d:\n%s", k, d)
		}
	}
}

// A directory in the place of the checkpoint cannot be removed.
func TestRemoveDirectory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, CheckpointName, "full"), 0o755))
	if err := RemoveCheckpoint(dir); err == nil {
		t.Error("Remove reports no error for a directory in the place of the checkpoint")
	}
}

// Whichever operation of a write fails, the error says why, the old or the new checkpoint can be
// read, and the next write succeeds.
func TestFaults(t *testing.T) {
	faults(t, func(string) {})
	faults(t, func(dir string) { // the run resumed from the previous checkpoint
		name := filepath.Join(dir, CheckpointName)
		require.NoError(t, os.Rename(name, filepath.Join(dir, previousCheckpoint)))
		require.NoError(t, os.WriteFile(name, []byte("damaged"), 0o644))
	})
}

// faults writes a checkpoint after prepare, with a fault at each operation in turn.
func faults(t *testing.T, prepare func(dir string)) {
	t.Helper()
	for f := range disk.EveryFault() {
		dir := t.TempDir()
		require.NoError(t, (&CheckpointWriter{Dir: dir}).Write(example(1)))
		prepare(dir)
		err := f.Run(func() error { return (&CheckpointWriter{Dir: dir}).Write(example(2)) })
		if f.Failed() != errors.Is(err, syscall.ENOSPC) || !f.Failed() && err != nil {
			t.Errorf("%v: error %v", f, err)
		}
		got, err := ReadCheckpoint(dir)
		if err != nil {
			t.Fatalf("%v: %v", f, err)
		}
		if k := got.At.Iteration; k != 2 && !f.Failed() || diff(example(k), got) != "" {
			t.Errorf("%v: checkpoint %d: %s", f, k, diff(example(k), got))
		}
		require.NoError(t, (&CheckpointWriter{Dir: dir}).Write(example(3)))
		if got, err := ReadCheckpoint(dir); err != nil || got.At.Iteration != 3 {
			t.Errorf("%v: the next checkpoint: %v, %v", f, got, err)
		}
		if _, err := os.Stat(filepath.Join(dir, newCheckpoint)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: the new file stays: %v", f, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	data := require.Value(encodeCheckpoint(example(5)))(f)
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeCheckpoint(data)
		if err != nil {
			if !errors.Is(err, ErrDamagedCheckpoint) && !errors.Is(err, ErrCheckpointVersion) {
				t.Errorf("an error of no kind: %v", err)
			}
			return
		}
		again := require.Value(encodeCheckpoint(c))(t)
		if _, err := decodeCheckpoint(again); err != nil {
			t.Error(err)
		}
	})
}
