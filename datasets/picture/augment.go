package picture

import "ppal/datasets/matrix"

// Augmentation says which copies of a training picture are rows.
type Augmentation string

// The augmentations. Each has the picture itself as its first copy.
const (
	AugmentNone Augmentation = "none" // the picture alone
	AugmentFlip Augmentation = "flip" // and its mirror image, left and right exchanged: 2 copies
	// AugmentFlipShift has the picture and its mirror image, each also moved by s pixels up or down,
	// left or right, or both: 18 copies. s is a sixteenth of the picture's smaller side, at least 1.
	// Pixels that come in from outside have the value of the nearest pixel of the picture.
	AugmentFlipShift Augmentation = "flip-shift"
)

// Copies returns the number of copies of each picture.
func (a Augmentation) Copies() int {
	switch a {
	case AugmentFlip:
		return 2
	case AugmentFlipShift:
		return 18
	}
	return 1
}

// Augmented holds the copies of pictures as rows, without their pixels: row i is copy i mod k of
// picture i/k, where k is the number of copies.
type Augmented struct {
	pictures *matrix.Bytes
	from     [][]int // the source of each pixel of a copy; nil: the picture itself
}

var _ matrix.EightBit = (*Augmented)(nil)

// NewAugmented returns the copies of the pictures in m, whose rows have the shape.
func NewAugmented(m *matrix.Bytes, shape Shape, a Augmentation) *Augmented {
	x := &Augmented{m, [][]int{nil}}
	if a.Copies() > 1 {
		x.from = append(x.from, sources(shape, true, 0, 0))
	}
	if a == AugmentFlipShift {
		s := max(1, min(shape.Height, shape.Width)/16)
		for _, down := range []int{0, -s, s} {
			for _, right := range []int{0, -s, s} {
				if down != 0 || right != 0 {
					x.from = append(x.from, sources(shape, false, down, right), sources(shape, true, down, right))
				}
			}
		}
	}
	return x
}

// sources returns the pixel of the picture that each pixel of a copy has: the copy is mirrored, and
// then moved by the numbers of pixels.
func sources(shape Shape, mirrored bool, down, right int) []int {
	from := make([]int, 0, shape.Pixels())
	for c := range shape.Channels {
		for y := range shape.Height {
			for x := range shape.Width {
				row, col := min(max(y-down, 0), shape.Height-1), min(max(x-right, 0), shape.Width-1)
				if mirrored {
					col = shape.Width - 1 - col
				}
				from = append(from, (c*shape.Height+row)*shape.Width+col)
			}
		}
	}
	return from
}

// Dims implements matrix.Matrix.
func (a *Augmented) Dims() (rows, cols int) {
	return a.pictures.Rows * len(a.from), a.pictures.Cols
}

// ByteScale implements matrix.EightBit.
func (a *Augmented) ByteScale() float64 { return a.pictures.Scale }

// ByteRow implements matrix.EightBit.
func (a *Augmented) ByteRow(i int, buffer []uint8) []uint8 {
	picture, from := a.pictures.ByteRow(i/len(a.from), nil), a.from[i%len(a.from)]
	if from == nil {
		return picture
	}
	for j, k := range from {
		buffer[j] = picture[k]
	}
	return buffer[:len(from)]
}

// Float32 implements matrix.Matrix.
func (a *Augmented) Float32(dst []float32, from, to int) { matrix.WidenBytes(dst, a, from, to) }

// Float64 implements matrix.Matrix.
func (a *Augmented) Float64(dst []float64, from, to int) { matrix.WidenBytes(dst, a, from, to) }
