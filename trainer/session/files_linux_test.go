package session

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/racing"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session/internal/device"
	"ppal/trainer/session/internal/load"
)

// writePictures writes files in the form of Fashion-MNIST with the first rows of the built-in
// pictures, and returns the data directory.
func writePictures(t *testing.T, rows int) (dir string) {
	t.Helper()
	train, _, err := datasets.LoadImages("", "synthetic", 1)
	require.NoError(t, err)
	dir = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "fashion-mnist"), 0o777))
	save := func(name string, kind byte, dims []int, values []byte) {
		head := []byte{0, 0, 8, kind}
		for _, n := range dims {
			head = binary.BigEndian.AppendUint32(head, uint32(n))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "fashion-mnist", name), append(head, values...), 0o600))
	}
	for _, part := range []string{"train", "t10k"} {
		save(part+"-images-idx3-ubyte.gz", 3, []int{rows, 28, 28}, train.Pixels.Data[:rows*784])
		save(part+"-labels-idx1-ubyte.gz", 1, []int{rows}, train.Labels[:rows])
	}
	return dir
}

// writeSparse writes a file of rows in LIBSVM's format.
func writeSparse(t *testing.T, rows int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range rows {
		fmt.Fprintf(&b, "%+d", 2*rng.IntN(2)-1)
		for j := range 60 {
			fmt.Fprintf(&b, " %d:%.3f", j+1, rng.NormFloat64())
		}
		b.WriteByte('\n')
	}
	path := filepath.Join(t.TempDir(), "rows.svm")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// aboutKept returns the remarks of a run about kept rows.
func aboutKept(d load.Description) string {
	return strings.Join(slices.DeleteFunc(slices.Concat(d.Notes, d.Warnings), func(s string) bool { return !strings.Contains(s, "kept") }), " ")
}

// Pictures and sparse rows in files give the same bits as in memory. A second session uses the kept
// rows, and a damaged kept file is made again. Built-in pictures are not kept.
func TestPicturesAndSparseRowsInFiles(t *testing.T) {
	notUnderRace(t)
	task, split := NeymanPearson{Kappa: []float64{0.3}}, tabular.Split{Train: 80, Validation: 20}
	written := Images{Dataset: "fashion-mnist", Dir: writePictures(t, 1500), Classes: []int{0, 1}, Split: split}
	type rowsCase struct {
		source Source
		kept   bool
		runs   int // with bounded memory
	}
	cases := map[string]rowsCase{
		"built in": {Images{Dataset: "synthetic", Classes: []int{2, 0}, Split: split}, false, 1},
		"IDX":      {written, true, 3},
		"LIBSVM":   {LIBSVM(writeSparse(t, 2000)), true, 3},
	}
	if dir := os.Getenv("PPAL_DATA"); dir != "" {
		cases["CIFAR-10"] = rowsCase{Images{Dataset: "cifar10", Dir: dir, Classes: []int{1, 3}, RowsPerClass: 60}, true, 2}
	}
	for name, c := range cases {
		folder := t.TempDir()
		finish := func(memory int64) (*Result, recordedMeasures, string) {
			var measures recordedMeasures
			a := buildOptions(t, onTable(task, c.source, func(o *Options) {
				o.Model = &models.Spec{Hidden: []int{4}}
				o.Device.Memory, o.Device.MemoryDir, o.Device.KeptDir = memory, folder, filepath.Join(folder, "kept")
			}))
			defer func() { require.NoError(t, a.Close()) }()
			r := require.Value(a.Optimize(t.Context(), trainer.Settings{Iterations: 6, RecordEvery: 2, Recorder: &measures}))(t)
			final := require.Value(a.Certify(r))(t)
			final.Training, final.Certifying = nil, 0 // measured times
			return final, measures, aboutKept(a.data.Description)
		}
		want, records, _ := finish(0)
		for _, run := range []struct{ what, remark string }{{"first", "are kept for later runs in"}, {"second", "are read from"}, {"damaged", "cannot be used"}}[:c.runs] {
			if run.what == "damaged" {
				damage(t, filepath.Join(folder, "kept"))
			}
			got, fromFiles, remark := finish(64 << 20)
			if diff := cmp.Diff(want, got) + cmp.Diff(records, fromFiles); diff != "" || len(records) < 2 {
				t.Errorf("%s, the %s run, %d records: %s", name, run.what, len(records), diff)
			}
			if c.kept && !strings.Contains(remark, run.remark) || !c.kept && remark != "" {
				t.Errorf("%s, the %s run: %q, want %q", name, run.what, remark, run.remark)
			}
		}
	}
}

// damage changes a byte in the middle of each file of a folder.
func damage(t *testing.T, folder string) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, path := range list {
		text := require.Value(os.ReadFile(path))(t)
		text[len(text)/2] ^= 4
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
}

// Pictures of files that have changed are read again. Other classes, numbers of rows and splits
// have their own kept rows, and kept rows do not depend on the seed without validation rows.
func TestKeptPictures(t *testing.T) {
	racing.Skip(t, "TestRowsInFiles runs the same goroutines")
	dir, folder := writePictures(t, 400), t.TempDir()
	load := func(change func(s *Images), seed uint64) string {
		t.Helper()
		source := Images{Dataset: "fashion-mnist", Dir: dir, Classes: []int{0, 1}}
		if change != nil {
			change(&source)
		}
		d := require.Value(device.Open(Device{Kind: CPU, Threads: 1, Memory: 64 << 20, MemoryDir: t.TempDir(), KeptDir: folder}.resolved()))(t)
		defer func() { require.NoError(t, d.Close()) }()
		l := require.Value(source.Load(t.Context(), Request{request(d, Device{}.dtype(), seed, constraints.Needs{}, false)}))(t)
		return aboutKept(l.rows.Description)
	}
	divided := func(s *Images) { s.Split = tabular.Split{Train: 50, Validation: 50} }
	for i, c := range []struct {
		change func(s *Images)
		seed   uint64
		want   string
	}{
		{nil, 1, "are kept for later runs in"},
		{nil, 2, "are read from"},
		{func(s *Images) { s.Classes = []int{1, 0} }, 1, "are kept for later runs in"},
		{func(s *Images) { s.RowsPerClass = 5 }, 1, "are kept for later runs in"},
		{divided, 1, "are kept for later runs in"},
		{divided, 1, "are read from"},
		{divided, 2, "are kept for later runs in"},
	} {
		if got := load(c.change, c.seed); !strings.Contains(got, c.want) {
			t.Errorf("load %d: %q, want %q", i, got, c.want)
		}
	}
	path := filepath.Join(dir, "fashion-mnist", "train-images-idx3-ubyte.gz")
	text := require.Value(os.ReadFile(path))(t)
	text[1000] ^= 1
	require.NoError(t, os.WriteFile(path, text, 0o600))
	for i, want := range []string{"has changed", "are read from"} {
		if got := load(nil, 1); !strings.Contains(got, want) {
			t.Errorf("load %d of changed files: %q, want %q", i, got, want)
		}
	}
}

// Rows that find no space on the disk are an error before the training, in one line. Rows that find
// space for themselves and none for later sessions are a warning.
func TestNoSpaceForRows(t *testing.T) {
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("only root can make a small file system: ", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(small, unix.MNT_DETACH)) })
	for name, source := range map[string]Source{
		"pictures": Images{Dataset: "fashion-mnist", Dir: writePictures(t, 400), Classes: []int{0, 1}},
		"LIBSVM":   LIBSVM(writeSparse(t, 400)),
	} {
		for _, tc := range []struct{ memory, kept, want string }{
			{small, t.TempDir(), "for rows beyond the memory"},
			{t.TempDir(), small, "are not kept for later runs"},
		} {
			d := require.Value(device.Open(Device{Kind: CPU, Threads: 1, Memory: 64 << 20, MemoryDir: tc.memory, KeptDir: tc.kept}.resolved()))(t)
			l, err := source.Load(t.Context(), Request{request(d, Device{}.dtype(), 1, constraints.Needs{}, false)})
			text := fmt.Sprint(err)
			if err == nil {
				text = aboutKept(l.rows.Description)
			}
			if !strings.Contains(text, tc.want) || !strings.Contains(text, "no space left") || strings.Contains(text, "\n") {
				t.Errorf("%s: %q, want %q", name, text, tc.want)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if list, err := os.ReadDir(small); err != nil || len(list) > 0 {
				t.Errorf("%s: files stay: %v, %v", name, list, err)
			}
		}
	}
}
