package session

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/internal/load"
)

// writePictures writes files in the form of Fashion-MNIST with the first rows of the built-in
// pictures, and returns the data directory.
func writePictures(t *testing.T, rows int) (dir string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // kept pictures
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
func aboutKept(l *load.Data) string {
	return strings.Join(slices.DeleteFunc(slices.Concat(l.KeptNotes, l.Description.Notes, l.Description.Warnings), func(s string) bool { return !strings.Contains(s, "kept") }), " ")
}

// Pictures and sparse rows in files give the same bits as in memory. A second session uses the kept
// rows, and a damaged kept file is made again. Built-in pictures and decompressed files are not
// kept.
func TestPicturesAndSparseRowsInFiles(t *testing.T) {
	notUnderRace(t)
	task, split := NeymanPearson{Kappa: []float64{0.3}}, tabular.Split{Train: 80, Validation: 20}
	written := Images{Dataset: "fashion-mnist", Dir: writePictures(t, 1500), Classes: []int{0, 1}, Split: split}
	type rowsCase struct {
		source Source
		found  string // a remark on kept rows of the second session
		runs   int    // with bounded memory
	}
	cases := map[string]rowsCase{
		"built in": {Images{Dataset: "synthetic", Classes: []int{2, 0}, Split: split}, "", 1},
		"IDX":      {written, "", 3},
		"LIBSVM":   {LIBSVM(writeSparse(t, 2000)), "are read from", 3},
	}
	if dir := os.Getenv("PPAL_DATA"); dir != "" {
		cases["CIFAR-10"] = rowsCase{Images{Dataset: "cifar10", Dir: dir, Classes: []int{1, 3}, RowsPerClass: 60}, "", 1}
	}
	for name, c := range cases {
		folder := t.TempDir()
		t.Setenv("XDG_CACHE_HOME", folder)
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
			return final, measures, aboutKept(a.data)
		}
		want, records, remark := finish(0)
		pictures := strings.Contains(remark, "are kept for later runs in") // also without bounded memory
		for _, run := range []struct{ what, remark string }{{"first", "are kept for later runs in"}, {"second", c.found}, {"damaged", "cannot be used"}}[:c.runs] {
			if pictures && run.what == "first" {
				continue
			}
			if run.what == "damaged" {
				damage(t, folder)
			}
			got, fromFiles, remark := finish(64 << 20)
			if diff := cmp.Diff(want, got) + cmp.Diff(records, fromFiles); diff != "" || len(records) < 2 {
				t.Errorf("%s, the %s run, %d records: %s", name, run.what, len(records), diff)
			}
			if kept := c.runs > 1; kept && !strings.Contains(remark, run.remark) || (!kept || run.remark == "") && remark != "" {
				t.Errorf("%s, the %s run: %q, want %q", name, run.what, remark, run.remark)
			}
		}
	}
}

// damage changes a byte in the middle of each kept file in the folders of a folder.
func damage(t *testing.T, folder string) {
	t.Helper()
	list := require.Value(filepath.Glob(filepath.Join(folder, "kept", "*")))(t)
	list = append(list, require.Value(filepath.Glob(filepath.Join(folder, "ppal", "pictures", "*")))(t)...)
	if len(list) != 1 {
		t.Fatal(list)
	}
	for _, path := range list {
		text := require.Value(os.ReadFile(path))(t)
		text[len(text)/2] ^= 4
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
}

// The decoded pictures of a data set are kept once, for all choices of rows. A run decodes them
// again if a file has changed, and never takes a kept file that is damaged, cut or of another set.
// Pictures without a directory for kept files are decoded in each run.
func TestKeptPictures(t *testing.T) {
	require.NoRace(t, "TestRowsInFiles runs the same goroutines")
	cache, sources := t.TempDir(), map[string]Images{
		"one": {Dataset: "fashion-mnist", Dir: writePictures(t, 400), Classes: []int{0, 1}},
		"two": {Dataset: "fashion-mnist", Dir: writePictures(t, 300), Classes: []int{0, 1}},
	}
	files := func() []string { return require.Value(filepath.Glob(filepath.Join(cache, "ppal", "pictures", "*")))(t) }
	read := func(source Images, home string) (l *load.Data, remark string) {
		t.Helper()
		t.Setenv("XDG_CACHE_HOME", home)
		t.Setenv("HOME", home)
		l = require.Value(source.Load(t.Context(), Request{load.Request{Dtype: tensor.Float64, Seed: 1}}))(t).rows
		return l, aboutKept(l)
	}
	check := func(what string, source Images, want string) {
		t.Helper()
		got, remark := read(source, cache)
		if !strings.Contains(remark, want) || want == "" && remark != "" {
			t.Errorf("%s: %q, want %q", what, remark, want)
		}
		direct, _ := read(source, "") // no cache directory
		for k, s := range direct.Splits {
			if !reflect.DeepEqual(s.Data, got.Splits[k].Data) || !slices.Equal(s.Labels, got.Splits[k].Labels) {
				t.Errorf("%s: the kept %s rows are not the decoded ones", what, s.Name)
			}
		}
		if diff := cmp.Diff(direct.Center, got.Center) + cmp.Diff(direct.Description.Data, got.Description.Data); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	one, other := sources["one"], sources["one"]
	other.Classes, other.RowsPerClass, other.Split = []int{2, 0, 1}, 20, tabular.Split{Train: 50, Validation: 50}
	check("the first run", one, "are kept for later runs in")
	check("a later run", one, "")
	check("other rows", other, "")
	kept := files()[0]
	content := require.Value(os.ReadFile(kept))(t)
	write := func(content []byte) {
		require.NoError(t, os.Remove(kept))
		require.NoError(t, os.WriteFile(kept, content, 0o400))
	}
	for _, at := range []int{3, 100, len(content) / 2, len(content) - 3} {
		damaged := slices.Clone(content)
		damaged[at] ^= 1
		write(damaged)
		check(fmt.Sprint("a damaged byte ", at), one, "cannot be used")
	}
	write(content[:len(content)/2])
	check("a cut file", one, "cannot be used")
	check("another directory", sources["two"], "has changed")
	check("the first directory", one, "has changed")
	own, dir := t.TempDir(), t.TempDir()
	for k := range 4 {
		datatest.Write(t, own, fmt.Sprintf("%d/%d.png", k%2, k), datatest.PNG(t, datatest.Bars(rand.New(rand.NewPCG(1, 2)), k%2, 28, 28)))
	}
	require.Value(PictureFiles{Dir: dir, TableOptions: tabular.TableOptions{File: own, Label: "class=1", Split: tabular.Split{Train: 50, Test: 50}}}.Load(t.Context(), Request{load.Request{Dtype: tensor.Float64}}))(t)
	write(require.Value(os.ReadFile(require.Value(filepath.Glob(filepath.Join(dir, "pictures", "*")))(t)[0]))(t))
	check("the file of another set", one, "cannot be used")
	path := filepath.Join(one.Dir, "fashion-mnist", "train-images-idx3-ubyte.gz")
	text := require.Value(os.ReadFile(path))(t)
	text[1000] ^= 1
	require.NoError(t, os.WriteFile(path, text, 0o600))
	check("changed pictures", one, "has changed")
	check("changed pictures, again", one, "")
	if list := files(); len(list) != 1 {
		t.Errorf("files %v, want one", list)
	}
	if _, remark := read(one, path); !strings.Contains(remark, "are not kept for later runs") {
		t.Errorf("a file in place of the directory: %q", remark)
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
			t.Setenv("XDG_CACHE_HOME", tc.kept)
			d := require.Value(build.Open(Device{Kind: CPU, Threads: 1, Memory: 64 << 20, MemoryDir: tc.memory, KeptDir: tc.kept}.resolved()))(t)
			l, err := source.Load(t.Context(), Request{request(d, Device{}.dtype(), 1, constraints.Needs{}, false)})
			text := fmt.Sprint(err)
			if err == nil {
				text = aboutKept(l.rows)
			}
			if !strings.Contains(text, tc.want) || !strings.Contains(text, "no space left") || strings.Contains(text, "\n") {
				t.Errorf("%s: %q, want %q", name, text, tc.want)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			_ = filepath.WalkDir(small, func(path string, e os.DirEntry, err error) error {
				if err != nil || !e.IsDir() {
					t.Errorf("%s: %s stays: %v", name, path, err)
				}
				return nil
			})
		}
	}
}
