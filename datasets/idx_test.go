package datasets

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/picture"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// writeFashion writes a small data set of 28 x 28 images.
func writeFashion(t *testing.T, rows int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	pixels, labels := make([]byte, rows*784), make([]byte, rows)
	for i := range pixels {
		pixels[i] = byte(i)
	}
	for i := range labels {
		labels[i] = byte(i % 10)
	}
	for _, part := range []string{"train", "t10k"} {
		datatest.Write(t, dir, "fashion-mnist/"+part+"-images-idx3-ubyte.gz", datatest.Gzipped(datatest.IDX(pixels, uint32(rows), 28, 28)))
		datatest.Write(t, dir, "fashion-mnist/"+part+"-labels-idx1-ubyte.gz", datatest.Gzipped(datatest.IDX(labels, uint32(rows))))
	}
	return dir
}

func TestLoadFashion(t *testing.T) {
	dir := writeFashion(t, 13)
	// One file is decompressed under its own name, one under the compressed name.
	os.Remove(filepath.Join(dir, "fashion-mnist/t10k-labels-idx1-ubyte.gz"))
	datatest.Write(t, dir, "fashion-mnist/t10k-labels-idx1-ubyte", datatest.IDX(make([]byte, 13), 13))
	datatest.Write(t, dir, "fashion-mnist/train-labels-idx1-ubyte.gz", datatest.IDX([]byte{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0}, 13))
	train, test, err := LoadImages(dir, "fashion-mnist", 0)
	require.NoError(t, err)
	if rows, cols := train.Pixels.Dims(); rows != 13 || cols != 784 || train.Pixels.Data[785] != 785%256 {
		t.Errorf("%d x %d", rows, cols)
	}
	if diff := cmp.Diff([]int{4, 1, 1, 1, 1, 1, 1, 1, 1, 1}, train.Counts()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{13, 0, 0, 0, 0, 0, 0, 0, 0, 0}, test.Counts()); diff != "" {
		t.Error(diff)
	}
	if got := (&picture.Images{Labels: []uint8{2, 1, 0, 1, 255}, Classes: make([]string, 2)}).Counts(); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("counts %v of two classes", got)
	}
	if got := fmt.Sprint(train.Shape, picture.Shape{Height: 32, Width: 16, Channels: 3}); got != "28x28 32x16x3" {
		t.Error(got)
	}
	// The training images need no test files.
	for _, name := range []string{"images-idx3", "labels-idx1"} {
		os.RemoveAll(filepath.Join(dir, "fashion-mnist/t10k-"+name+"-ubyte"))
		os.RemoveAll(filepath.Join(dir, "fashion-mnist/t10k-"+name+"-ubyte.gz"))
	}
	if alone, err := FashionMNISTTraining(dir); err != nil || alone.SHA256() != train.SHA256() {
		t.Errorf("%v, other pictures %v", err, alone)
	}
	_, err = FashionMNISTTraining(t.TempDir())
	datatest.CheckError(t, err, fs.ErrNotExist, "get it with `ppal data fetch fashion-mnist`")
}

func TestLoadFashionErrors(t *testing.T) {
	const labels, images = "fashion-mnist/train-labels-idx1-ubyte.gz", "fashion-mnist/train-images-idx3-ubyte.gz"
	for _, test := range []struct {
		name, file string
		data       []byte
		want       error
		text       string
	}{
		{"label", labels, datatest.Gzipped(datatest.IDX([]byte{0, 10, 1}, 3)), dataerr.ErrLabel,
			"byte 9: label out of range: row 1 has label 10, classes are 0 to 9; get it with `ppal data fetch fashion-mnist`"},
		{"counts", labels, datatest.Gzipped(datatest.IDX([]byte{0, 1}, 2)), dataerr.ErrMismatch, "byte 4: files disagree: 3 pictures, 2 labels in "},
		{"shape", images, datatest.Gzipped(datatest.IDX(make([]byte, 3*4), 3, 2, 2)), dataerr.ErrFormat, "pictures of 2x2, fashion-mnist has 28x28"},
		{"pictures for labels", labels, datatest.Gzipped(datatest.IDX(make([]byte, 3), 3, 1, 1)), dataerr.ErrFormat, "magic number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := writeFashion(t, 3)
			datatest.Write(t, dir, test.file, test.data)
			_, _, err := LoadImages(dir, "fashion-mnist", 0)
			datatest.CheckError(t, err, test.want, test.text)
		})
	}
	t.Run("missing", func(t *testing.T) {
		_, _, err := LoadImages(t.TempDir(), "fashion-mnist", 0)
		datatest.CheckError(t, err, fs.ErrNotExist, "get it with `ppal data fetch fashion-mnist`")
	})
	t.Run("unknown", func(t *testing.T) {
		_, _, err := LoadImages(t.TempDir(), "mnist", 0)
		datatest.CheckError(t, err, dataerr.ErrUnknownDataset, `unknown dataset "mnist"; choose one of synthetic, fashion-mnist, cifar10`)
	})
}
