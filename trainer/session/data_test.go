package session

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/datasets"
	"ppal/internal/require"
	"ppal/trainer/session/results"
)

// writeFashion writes files with the names of the Fashion-MNIST files. The pictures are noise, with
// the same number of pictures in each class.
func writeFashion(t *testing.T, train, test int) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "fashion-mnist"), 0o755))
	write := func(name string, dims []uint32, value func(i int) byte) {
		data := []byte{0, 0, 8, byte(len(dims))}
		n := 1
		for _, d := range dims {
			data = binary.BigEndian.AppendUint32(data, d)
			n *= int(d)
		}
		for i := range n {
			data = append(data, value(i))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "fashion-mnist", name), data, 0o644))
	}
	for part, rows := range map[string]uint32{"train": uint32(train), "t10k": uint32(test)} {
		write(part+"-images-idx3-ubyte.gz", []uint32{rows, 28, 28}, func(i int) byte { return byte(i * i >> 3) })
		write(part+"-labels-idx1-ubyte.gz", []uint32{rows}, func(i int) byte { return byte(i % 10) })
	}
	return dir
}

// A run on files that differ from the published files prints a warning, and names the files with
// their checksums.
func TestUnofficialData(t *testing.T) {
	e := assembled(t, small(func(c *setup) { c.Dataset, c.Dir = "fashion-mnist", writeFashion(t, 20, 20) }))
	const want = "4 of 4 files of fashion-mnist differ from the published files: results are not comparable with published results."
	if !slices.Contains(e.Describe().Warnings, want) {
		t.Errorf("warnings %q", e.Describe().Warnings)
	}
	files := e.Describe().Data
	if len(files) != 4 || files[0].Name != "fashion-mnist/train-images-idx3-ubyte.gz" || files[0].Bytes != 16+20*784 ||
		len(files[0].SHA256) != 64 || files[0].State != "differs" {
		t.Errorf("files %+v", files)
	}
	if files := assembled(t, small(nil)).Describe().Data; len(files) != 2 || files[0].Name != "synthetic train" || files[0].State != "" {
		t.Errorf("built-in data: %+v", files)
	}
}

// A run identifies the real files in the same way as datasets.Check.
func TestRealDataAreIdentified(t *testing.T) {
	dir := os.Getenv(datasets.EnvData)
	if dir == "" {
		t.Skipf("%s is not set: real files are not tested", datasets.EnvData)
	}
	e := assembled(t, small(func(c *setup) { c.Dataset, c.Dir, c.Classes = "cifar10", dir, []int{0, 1} }))
	differ := slices.ContainsFunc(e.Describe().Data, func(f results.DataFile) bool { return f.State == datasets.Different.String() })
	warned := slices.ContainsFunc(e.Describe().Warnings, func(w string) bool { return strings.Contains(w, "differ from the published files") })
	if differ != warned {
		t.Errorf("files %+v, warnings %q", e.Describe().Data, e.Describe().Warnings)
	}
}
