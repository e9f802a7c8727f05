package datasets

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// records returns CIFAR records; the pixels of record i are fill + i.
func records(fill byte, labels ...byte) []byte {
	var out []byte
	for i, label := range labels {
		out = append(out, label)
		out = append(out, bytes.Repeat([]byte{fill + byte(i)}, cifarPixels)...)
	}
	return out
}

// cifarFiles returns the six batches of a small data set.
func cifarFiles() map[string][]byte {
	return map[string][]byte{
		"data_batch_1.bin": records(10, 0, 1),
		"data_batch_2.bin": records(20, 2),
		"data_batch_3.bin": records(30, 3),
		"data_batch_4.bin": records(40, 0, 0),
		"data_batch_5.bin": records(50, 9),
		"test_batch.bin":   records(60, 1, 2),
	}
}

// archive returns a tar.gz of the files in the given order.
func archive(files map[string][]byte, order ...string) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	w.WriteHeader(&tar.Header{Name: cifarFolder + "/", Typeflag: tar.TypeDir, Mode: 0o755})
	for _, name := range order {
		w.WriteHeader(&tar.Header{Name: cifarFolder + "/" + name, Size: int64(len(files[name])), Mode: 0o644})
		w.Write(files[name])
	}
	w.Close()
	return datatest.Gzipped(buf.Bytes())
}

// batchNames lists the files of cifarFiles in an unusual order.
var batchNames = []string{"data_batch_4.bin", "readme.html", "test_batch.bin", "data_batch_1.bin",
	"data_batch_5.bin", "data_batch_3.bin", "data_batch_2.bin"}

func TestLoadCIFAR(t *testing.T) {
	folder, packed := t.TempDir(), t.TempDir()
	for name, data := range cifarFiles() {
		datatest.Write(t, folder, cifarFolder+"/"+name, data)
	}
	datatest.Write(t, packed, cifarArchive, archive(cifarFiles(), batchNames...))
	for name, dir := range map[string]string{"folder": folder, "archive": packed} {
		t.Run(name, func(t *testing.T) {
			train, test, err := LoadImages(dir, "cifar10", 0)
			require.NoError(t, err)
			if diff := cmp.Diff([]byte{0, 1, 2, 3, 0, 0, 9}, train.Labels); diff != "" {
				t.Error(diff)
			}
			for r, want := range []byte{10, 11, 20, 30, 40, 41, 50} {
				row := train.Pixels.Data[r*cifarPixels : (r+1)*cifarPixels]
				if slices.Min(row) != want || slices.Max(row) != want {
					t.Errorf("row %d holds other than %d", r, want)
				}
			}
			if diff := cmp.Diff([]byte{1, 2}, test.Labels); diff != "" || test.Pixels.Rows != 2 {
				t.Error(diff)
			}
		})
	}
}

func TestLoadCIFARErrors(t *testing.T) {
	long := bytes.Repeat(records(0, 0), cifarRows+1)
	for _, test := range []struct {
		name string
		data []byte
		want error
		text string
	}{
		{"cut", records(0, 1, 2)[:cifarRecord+100], dataerr.ErrTruncated, "byte 3073: truncated: 3173 bytes are not a whole number of records"},
		{"empty", nil, dataerr.ErrTruncated, "byte 0: truncated"},
		{"label", records(0, 1, 10), dataerr.ErrLabel, "byte 3073: label out of range: row 1 has label 10"},
		{"too long", long, dataerr.ErrTrailing, "byte 30730000: trailing bytes: a batch has at most 10000 records, this one 10001"},
	} {
		files := cifarFiles()
		files["data_batch_3.bin"] = test.data
		t.Run("folder, "+test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range files {
				datatest.Write(t, dir, cifarFolder+"/"+name, data)
			}
			_, _, err := LoadImages(dir, "cifar10", 0)
			datatest.CheckError(t, err, test.want, test.text)
			datatest.CheckError(t, err, test.want, "; remove "+dir)
		})
		t.Run("archive, "+test.name, func(t *testing.T) {
			if test.name == "too long" {
				require.NoRace(t, "the folder has the same error")
			}
			dir := t.TempDir()
			datatest.Write(t, dir, cifarArchive, archive(files, batchNames...))
			_, _, err := LoadImages(dir, "cifar10", 0)
			datatest.CheckError(t, err, test.want, "tar.gz: data_batch_3.bin: "+test.text)
			datatest.CheckError(t, err, test.want, "; get it with `ppal data fetch cifar10`")
		})
	}
	t.Run("batch missing in folder", func(t *testing.T) {
		dir := t.TempDir()
		datatest.Write(t, dir, cifarFolder+"/data_batch_1.bin", records(0, 1))
		_, _, err := LoadImages(dir, "cifar10", 0)
		datatest.CheckError(t, err, fs.ErrNotExist, "data_batch_2.bin")
	})
	t.Run("nothing there", func(t *testing.T) {
		_, _, err := LoadImages(t.TempDir(), "cifar10", 0)
		datatest.CheckError(t, err, fs.ErrNotExist, "nor the folder cifar-10-batches-bin; get it with `ppal data fetch cifar10`")
	})
}

func TestCIFARArchiveErrors(t *testing.T) {
	whole := archive(cifarFiles(), batchNames...)
	for _, test := range []struct {
		name string
		data []byte
		want error
		text string
	}{
		{"cut", whole[:len(whole)-12], dataerr.ErrTruncated, "ends too early"},
		{"cut in a batch", whole[:len(whole)/2], dataerr.ErrTruncated, "ends too early"},
		{"batch missing", archive(cifarFiles(), batchNames[:5]...), dataerr.ErrTruncated, "the archive has no data_batch_2.bin"},
		{"batch twice", archive(cifarFiles(), append(batchNames, "test_batch.bin")...), dataerr.ErrFormat, "test_batch.bin: wrong format: appears twice"},
		{"no archive", datatest.Gzipped(bytes.Repeat([]byte("no tar "), 300)), dataerr.ErrFormat, "invalid tar header"},
		{"html", []byte("<html>"), dataerr.ErrTruncated, ""},
		{"empty", nil, dataerr.ErrTruncated, "the archive has no data_batch_1.bin"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := readCIFARArchive(bytes.NewReader(test.data), "file", cifar10())
			datatest.CheckError(t, err, test.want, test.text)
		})
	}
}
