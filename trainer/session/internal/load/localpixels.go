package load

import (
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
)

// localPixels holds this process's rows of pictures, and drops the other rows.
type localPixels struct {
	*matrix.EightBitPart
	own *matrix.Bytes
}

// newLocalPixels allocates rows [from, to) of the given number of rows.
func newLocalPixels(rows, from, to, cols int) localPixels {
	own := matrix.NewBytes(to-from, cols, picture.PixelScale)
	return localPixels{matrix.NewEightBitPart(rows, from, own), own}
}

// SetRows implements matrix.RowStore.
func (p localPixels) SetRows(i int, rows [][]uint8) {
	for len(rows) > 0 && !p.Has(i) {
		i, rows = i+1, rows[1:]
	}
	n := min(len(rows), max(0, p.From+p.own.Rows-i))
	if n > 0 {
		p.own.SetRows(i-p.From, rows[:n])
	}
}

// SetScale implements Pixels.
func (p localPixels) SetScale(scale float64) { p.own.SetScale(scale) }

// Copies implements Pixels.
func (p localPixels) Copies() []*[]uint8 { return p.own.Copies() }
