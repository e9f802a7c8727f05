package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"ppal/datasets/matrix"
)

// Shape is the shape of one image. Its pixels are stored plane by plane, each plane row by row
// (channels x height x width).
type Shape struct {
	Height, Width, Channels int
}

// Pixels returns the number of values in one image.
func (s Shape) Pixels() int { return s.Height * s.Width * s.Channels }

// String returns text such as "28x28" or "32x32x3".
func (s Shape) String() string {
	if s.Channels == 1 {
		return fmt.Sprintf("%dx%d", s.Height, s.Width)
	}
	return fmt.Sprintf("%dx%dx%d", s.Height, s.Width, s.Channels)
}

// PixelScale maps 8-bit pixels to [0, 1].
const PixelScale = 1.0 / 255

// Images is a set of labelled images.
type Images struct {
	Pixels  *matrix.Bytes // one row for each image, Shape.Pixels() columns
	Labels  []uint8       // one for each row, an index into Classes
	Classes []string      // names of the declared classes; a class may have no rows
	Shape   Shape
}

// Counts returns the number of rows of every declared class. It ignores labels outside the declared
// classes, which no reader of this package accepts.
func (s *Images) Counts() []int { return Count(s.Labels, len(s.Classes)) }

// Count returns the number of labels of every class. It ignores labels outside the classes.
func Count(labels []uint8, classes int) []int {
	counts := make([]int, classes)
	for _, label := range labels {
		if int(label) < len(counts) {
			counts[label]++
		}
	}
	return counts
}

// SHA256 returns the checksum of the pixels and labels, in hexadecimal. It does not depend on the
// files' compression or layout.
func (s *Images) SHA256() string {
	h := sha256.New()
	h.Write(s.Pixels.Data)
	h.Write(s.Labels)
	return hex.EncodeToString(h.Sum(nil))
}

// Drawn returns images that are already in memory, and stay unchanged, as Pictures.
func Drawn(set *Images) *Pictures {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(set.Pixels.Data)), nil }
	return &Pictures{Labels: slices.Clone(set.Labels), Classes: slices.Clone(set.Classes), Shape: set.Shape, sections: []Section{open}, drawn: set}
}
