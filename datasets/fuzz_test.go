package datasets

import (
	"bytes"
	"errors"
	"testing"
)

// expected are the only errors that content may cause.
var expected = []error{ErrFormat, ErrTruncated, ErrTrailing, ErrLabel}

func checkFuzzError(t *testing.T, err error) {
	var fe *FileError
	if !errors.As(err, &fe) {
		t.Fatalf("%T: %v", err, err)
	}
	for _, e := range expected {
		if errors.Is(err, e) {
			return
		}
	}
	t.Fatalf("unexpected kind of error: %v", err)
}

func FuzzIDX(f *testing.F) {
	good := idx([]byte{1, 2, 3, 4, 5, 6}, 3, 1, 2)
	f.Add(good, 3)
	f.Add(gzipped(good), 3)
	f.Add(idx([]byte{1, 2, 3}, 3), 1)
	f.Add(idx([]byte{1}, 1<<31-1, 1<<15, 1<<15), 3)
	f.Add(gzipped(good)[:20], 3)
	f.Fuzz(func(t *testing.T, data []byte, ndims int) {
		ndims = 1 + ndims&3
		dims, values, err := readIDX(bytes.NewReader(data), "file", "values", ndims)
		if err != nil {
			checkFuzzError(t, err)
			return
		}
		n := 1
		for _, d := range dims {
			n *= d
		}
		if len(dims) != ndims || n != len(values) {
			t.Fatalf("dimensions %v, %d values", dims, len(values))
		}
		if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) && !bytes.Equal(data[4+4*ndims:], values) {
			t.Fatal("values are not the file's")
		}
	})
}

func FuzzCIFAR(f *testing.F) {
	f.Add(records(0, 1, 2), int64(0))
	f.Add(records(0, 10), int64(0))
	f.Add(records(0, 1), int64(cifarRecord))
	f.Add(records(0, 1), int64(1<<40))
	f.Fuzz(func(t *testing.T, data []byte, lie int64) {
		batch, err := readCIFAR(bytes.NewReader(data), "file", int64(len(data))+lie, 10)
		if err != nil {
			checkFuzzError(t, err)
			return
		}
		for i, label := range batch.labels {
			record := data[i*cifarRecord : (i+1)*cifarRecord]
			if label != record[0] || !bytes.Equal(record[1:], batch.pixels[i*cifarPixels:(i+1)*cifarPixels]) {
				t.Fatalf("record %d is not the file's", i)
			}
		}
	})
}

func FuzzCIFARArchive(f *testing.F) {
	whole := archive(cifarFiles(), batchNames...)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(archive(cifarFiles(), "test_batch.bin", "test_batch.bin"))
	f.Add([]byte("no archive"))
	c, err := newContent(bytes.NewReader(whole), "seed")
	if err != nil {
		f.Fatal(err)
	}
	var unzipped bytes.Buffer
	if _, err := unzipped.ReadFrom(c); err != nil {
		f.Fatal(err)
	}
	f.Add(unzipped.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		batches, err := readCIFARArchive(bytes.NewReader(data), "file", cifar10())
		if err != nil {
			checkFuzzError(t, err)
			return
		}
		for _, b := range batches {
			if len(b.labels) == 0 || len(b.pixels) != len(b.labels)*cifarPixels {
				t.Fatalf("%d labels, %d pixels", len(b.labels), len(b.pixels))
			}
		}
	})
}
