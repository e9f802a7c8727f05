package newrows

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
)

// idxFile returns an IDX file of pictures of 2 x 3 bytes.
func idxFile(rows int) string {
	header := []byte{0, 0, 8, 3, 0, 0, byte(rows >> 8), byte(rows), 0, 0, 0, 2, 0, 0, 0, 3}
	for i := range 6 * rows {
		header = append(header, byte(i%251))
	}
	return string(header)
}

func TestNewRowsPictures(t *testing.T) {
	const rows = 60000
	for name, text := range map[string]string{"plain": idxFile(rows), "gzip": string(datatest.Gzipped([]byte(idxFile(rows))))} {
		n := 0
		set := NewRows{Pixels: 6, Scale: 0.5,
			Work: func(features, results []float64) ([]float64, error) { return append(results, features...), nil },
			Emit: func(b *Block) error {
				for i, x := range b.Results {
					if want := float64((6*b.First+i)%251) * 0.5; x != want {
						return fmt.Errorf("number %d from row %d is %v, want %v", i, b.First, x, want)
					}
				}
				n += b.Rows
				return nil
			}}
		if err := set.Read(strings.NewReader(text), "file"); err != nil || n != rows {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
	}
	set := NewRows{Pixels: 6, Work: func(_, results []float64) ([]float64, error) { return results, nil }, Emit: func(*Block) error { return nil }}
	for name, tc := range map[string]struct {
		text string
		want error
	}{
		"cut": {idxFile(9)[:60], dataerr.ErrTruncated}, "longer": {idxFile(9) + "x", dataerr.ErrTrailing}, "magic": {"P5 28 28", dataerr.ErrFormat},
		"empty": {"", dataerr.ErrTruncated}, "labels": {"\x00\x00\x08\x01\x00\x00\x00\x01\x05", dataerr.ErrFormat},
		"shape": {strings.Replace(idxFile(9), "\x00\x00\x00\x03\x00", "\x00\x00\x00\x04\x00", 1), dataerr.ErrFormat},
	} {
		if err := set.Read(strings.NewReader(tc.text), "file"); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

// An IDX file of pictures of another size is named once.
func TestPicturesOfAnotherSize(t *testing.T) {
	set := NewRows{Preparation: &tabular.Preparation{Pictures: &tabular.PictureEncoding{Column: "picture", Height: 2, Width: 2, Channels: 1}},
		Work: func(_, results []float64) ([]float64, error) { return results, nil }, Emit: func(*Block) error { return nil }}
	err := set.Read(strings.NewReader(idxFile(9)), "new.idx")
	if want := "new.idx: wrong format: 2 x 3 pixels, and the training had 2 x 2; train with --size to resize pictures"; err == nil || !strings.HasSuffix(err.Error(), want) || strings.Count(err.Error(), "new.idx") != 1 {
		t.Errorf("%v, want %q", err, want)
	}
}
