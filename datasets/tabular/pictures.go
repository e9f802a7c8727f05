package tabular

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ppal/datasets/dataerr"
)

// PictureEncoding describes how the picture that a column names becomes features: Channels planes
// of Height x Width values of 8 bits, each plane row by row, times 1/255.
type PictureEncoding struct {
	Column   string `json:"column" yaml:"column"`
	Height   int    `json:"height" yaml:"height"`
	Width    int    `json:"width" yaml:"width"`
	Channels int    `json:"channels" yaml:"channels"` // 1: luma; 3: red, green, blue
	// pictures of other sizes are resized by area averaging; false: they are errors
	Resize bool `json:"resize,omitempty" yaml:"resize,omitempty"`
}

// Pixels returns the number of values of a picture.
func (e *PictureEncoding) Pixels() int { return e.Height * e.Width * e.Channels }

// Check returns ErrColumn if the encoding, which may come from a file, is not valid.
func (e *PictureEncoding) Check() error {
	if e.Height < 1 || e.Width < 1 || e.Height > mostSide || e.Width > mostSide || e.Channels != 1 && e.Channels != 3 {
		return fmt.Errorf("%w: pictures of %d x %d pixels and %d channels, want sides of at most %d (--size HEIGHTxWIDTH)", dataerr.ErrColumn, e.Height, e.Width, e.Channels, mostSide)
	}
	return nil
}

// PictureSize is the size to which pictures are resized. The zero value keeps the size of the
// files, which must be equal.
type PictureSize struct{ Height, Width int }

// mostSide is the largest height and width of pictures for training.
const mostSide = 4096

// ParsePictureSize parses HEIGHTxWIDTH; "" is the zero value.
func ParsePictureSize(text string) (s PictureSize, err error) {
	if text == "" {
		return s, nil
	}
	height, width, _ := strings.Cut(text, "x")
	s.Height, err = strconv.Atoi(height)
	if err == nil {
		s.Width, err = strconv.Atoi(width)
	}
	if err != nil || s.Height < 1 || s.Width < 1 || s.Height > mostSide || s.Width > mostSide {
		return s, errors.New("must be HEIGHTxWIDTH in pixels, such as 64x64, with sides of at most " + strconv.Itoa(mostSide))
	}
	return s, nil
}

// String returns a text that ParsePictureSize parses.
func (s PictureSize) String() string {
	if s == (PictureSize{}) {
		return ""
	}
	return fmt.Sprintf("%dx%d", s.Height, s.Width)
}

// The choices of TableOptions.Color.
const (
	ColorAuto = "auto" // grey if all files are grey, else RGB
	ColorGrey = "grey" // luma alone
	ColorRGB  = "rgb"  // red, green and blue
)

// PictureFile is the file of a picture.
type PictureFile struct {
	Path string
	Row  int // number of the picture in an IDX file, from 0; -1: the file is PNG or JPEG
}

// PictureSet has the pictures of all rows of a table, whose pixels are not read.
type PictureSet struct {
	Files    []PictureFile
	Encoding *PictureEncoding
	// SHA256 is the checksum of the checksums of the files' contents, in hexadecimal, and Bytes the
	// size of the contents.
	SHA256 string
	Bytes  int64
	// Fail adds the place in the table that names the picture with the given index to an error.
	Fail func(file int, err error) error
}

// PictureRows are the features of rows of pictures before their pixels are read.
type PictureRows struct {
	Set *PictureSet
	Of  []int // the picture of each row, an index into Set.Files
}

// Dims returns the numbers of rows and columns.
func (r *PictureRows) Dims() (rows, cols int) { return len(r.Of), r.Set.Encoding.Pixels() }

// unread is the panic of rows whose pixels are not read.
const unread = "tabular: the pixels of the pictures are not read"

// Float32 panics: the pixels are not read.
func (r *PictureRows) Float32([]float32, int, int) { panic(unread) }

// Float64 panics: the pixels are not read.
func (r *PictureRows) Float64([]float64, int, int) { panic(unread) }
