package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// pictureSets returns small data sets in every form from which images are read.
func pictureSets(t *testing.T) map[string]string {
	folder, packed := t.TempDir(), t.TempDir()
	for name, data := range cifarFiles() {
		datatest.Write(t, folder, cifarFolder+"/"+name, data)
	}
	datatest.Write(t, packed, cifarArchive, archive(cifarFiles(), batchNames...))
	return map[string]string{"synthetic": "", "fashion-mnist": writeFashion(t, 3000), "cifar10": folder, "cifar10 archive": packed}
}

// countingStore counts how often each row is set.
type countingStore struct {
	*matrix.Bytes
	times []atomic.Int32
}

func (s *countingStore) SetRows(i int, rows [][]uint8) {
	for k := range rows {
		s.times[i+k].Add(1)
	}
	s.Bytes.SetRows(i, rows)
}

// openAgain opens a set whose training images were loaded. It does not draw a built-in set again.
func openAgain(t *testing.T, dir, dataset string, train *picture.Images) *picture.Pictures {
	if dir == "" {
		return picture.Drawn(train)
	}
	open, _, err := OpenImages(dir, dataset, 7)
	require.NoError(t, err)
	return open
}

// TestChoiceIsSelection checks that a choice reads each row that Select selects exactly once, and
// that the moments have the same bits for any number of goroutines.
func TestChoiceIsSelection(t *testing.T) {
	for name, dir := range pictureSets(t) {
		dataset := strings.Fields(name)[0]
		all, _, err := LoadImages(dir, dataset, 7)
		require.NoError(t, err)
		for _, choice := range []struct {
			classes []int
			rows    int
		}{{[]int{0, 1}, 0}, {[]int{3, 0, 2}, 0}, {[]int{1, 0}, 1}, {[]int{2, 1, 3, 0}, 50}} {
			want := require.Value(picture.Select(all, choice.classes, choice.rows))(t)
			for _, processors := range []int{1, 3} {
				t.Run(fmt.Sprint(name, choice, processors), func(t *testing.T) {
					if processors == 1 {
						require.NoRace(t, "the runs on three processors have the same goroutines")
					}
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
					checkChoice(t, openAgain(t, dir, dataset, all), choice.classes, choice.rows, want)
				})
			}
		}
	}
}

func checkChoice(t *testing.T, train *picture.Pictures, classes []int, rowsPerClass int, want *picture.Selection) {
	c := require.Value(train.Choose(classes, rowsPerClass))(t)
	rows, cols := c.Dims()
	s := &countingStore{matrix.NewBytes(rows, cols, picture.PixelScale), make([]atomic.Int32, rows)}
	require.NoError(t, c.Read(s))
	got := c.Selection
	if p, q := want.Pixels, s.Bytes; p.Rows != q.Rows || p.Cols != q.Cols || p.Scale != q.Scale || !bytes.Equal(p.Data, q.Data) {
		t.Error("the pixels differ") // cmp.Diff takes long for millions of bytes
	}
	if diff := cmp.Diff(want, &got, cmpopts.IgnoreFields(picture.Selection{}, "Pixels")); diff != "" {
		t.Error(diff)
	}
	for i := range s.times {
		if n := s.times[i].Load(); n != 1 {
			t.Fatalf("row %d was set %d times", i, n)
		}
	}
	center, deviation := c.Moments()
	wantCenter, wantDeviation := matrix.Moments(want.Pixels)
	if !cmp.Equal(center, wantCenter) || deviation != wantDeviation {
		t.Errorf("moments differ: deviation %v, want %v", deviation, wantDeviation)
	}
}

// recordingStore notes the calls of SetRows.
type recordingStore struct {
	calls []string
}

func (s *recordingStore) SetRows(i int, rows [][]uint8) {
	s.calls = append(s.calls, fmt.Sprint(i, rows))
}

// TestRowsOfABlock checks that neighbours in the store come in one call, whatever their order in
// the file, and without the bytes before the pixels.
func TestRowsOfABlock(t *testing.T) {
	p := &picture.Pictures{Shape: picture.Shape{Height: 1, Width: 1, Channels: 1}, Skip: 1}
	var s recordingStore
	picture.Put(p.Place(nil, picture.Block{First: 2, Bytes: []byte{9, 10, 9, 11, 9, 12, 9, 13, 9, 14}}, []int{7, 7, 1, 0, -1, 4, 2}), &s)
	if diff := cmp.Diff([]string{"0 [[11] [10] [14]]", "4 [[13]]"}, s.calls); diff != "" {
		t.Error(diff)
	}
}

// TestChoiceErrors checks that Choose refuses the same requests as Select. The images of a built-in
// set stay in memory, so they can be read again.
func TestChoiceErrors(t *testing.T) {
	require.NoRace(t, "TestChoiceIsSelection reads with the same goroutines")
	train, _, err := OpenImages("", "synthetic", 1)
	require.NoError(t, err)
	for range 2 {
		if set, err := train.Images(); err != nil || set.Pixels.Rows != len(train.Labels) {
			t.Error(err)
		}
	}
	if c, err := train.Choose([]int{0, 1}, 1); err != nil || c.Read(matrix.NewBytes(2, 784, picture.PixelScale)) != nil {
		t.Error(err)
	}
	for _, classes := range [][]int{{0}, {0, 99}, {1, 1}} {
		if _, err := train.Choose(classes, 0); !errors.Is(err, dataerr.ErrClass) {
			t.Errorf("%v: %v", classes, err)
		}
	}
}

// TestPixelsAreReadOnce checks that pixels can be read only once.
func TestPixelsAreReadOnce(t *testing.T) {
	train, _, err := OpenImages(writeFashion(t, 10), "fashion-mnist", 0)
	require.NoError(t, err)
	require.Value(train.Images())(t)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	train.Images()
}

// TestPixelErrors checks that Read reports errors in files of pixels with their position.
func TestPixelErrors(t *testing.T) {
	require.NoRace(t, "TestChoiceIsSelection reads with the same goroutines")
	const images = "fashion-mnist/train-images-idx3-ubyte.gz"
	pixels := make([]byte, 3000*784)
	good := datatest.IDX(pixels, 3000, 28, 28)
	flipped := datatest.Gzipped(good)
	flipped[len(flipped)-5] ^= 1
	const whole = 16 + 3000*784
	dir := writeFashion(t, 3000)
	for _, test := range []struct {
		name string
		data []byte
		want error
		text string
	}{
		{"cut", good[:whole-1000], dataerr.ErrTruncated, fmt.Sprintf("byte %d: truncated: %d of %d bytes of pixels; get it with", whole-1000, whole-1016, whole-16)},
		{"nothing", good[:16], dataerr.ErrTruncated, "byte 16: truncated: 0 of 2352000 bytes of pixels"},
		{"gzip cut", datatest.Gzipped(good)[:1500], dataerr.ErrTruncated, "ends too early"},
		{"gzip checksum", flipped, dataerr.ErrFormat, fmt.Sprintf("byte %d: ", whole)},
		{"trailing", append(bytes.Clone(good), 1), dataerr.ErrTrailing, fmt.Sprintf("byte %d: trailing bytes after the content", whole)},
		{"other rows", datatest.IDX(pixels, 1500, 56, 28), dataerr.ErrMismatch, "byte 4: files disagree: 1500 pictures, 3000 labels in "},
	} {
		t.Run(test.name, func(t *testing.T) {
			datatest.Write(t, dir, images, test.data)
			train, _, err := OpenImages(dir, "fashion-mnist", 0)
			require.NoError(t, err)
			c := require.Value(train.Choose([]int{0, 1}, 0))(t)
			datatest.CheckError(t, c.Read(matrix.NewBytes(600, 784, 1)), test.want, test.text)
		})
	}
}

// TestBatchThatChanges checks that a batch that changes after reading its labels is an error.
func TestBatchThatChanges(t *testing.T) {
	for name, test := range map[string]struct {
		data []byte
		want error
		text string
	}{
		"shorter": {records(20), dataerr.ErrTruncated, "data_batch_2.bin: byte 0: truncated: 0 of 3073 bytes of records; remove "},
		"longer":  {records(20, 2, 3), dataerr.ErrTrailing, "data_batch_2.bin: byte 3073: trailing bytes after the content; remove "},
		"gone":    {nil, os.ErrNotExist, "data_batch_2.bin: no such file or directory; remove "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range cifarFiles() {
				datatest.Write(t, dir, cifarFolder+"/"+name, data)
			}
			train, _, err := OpenImages(dir, "cifar10", 0)
			require.NoError(t, err)
			if path := filepath.Join(dir, cifarFolder, "data_batch_2.bin"); name == "gone" {
				os.Remove(path)
			} else {
				datatest.Write(t, dir, cifarFolder+"/data_batch_2.bin", test.data)
			}
			_, err = train.Images()
			datatest.CheckError(t, err, test.want, test.text)
		})
	}
}
