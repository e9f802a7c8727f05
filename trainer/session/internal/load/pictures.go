package load

import (
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/mapped"
	"ppal/internal/relay"
)

// Choice says which pictures of a data set a run uses.
type Choice struct {
	Dataset, Dir string // the name of the data set, and the directory of its files
	Classes      []int
	RowsPerClass int           // of the training set; 0: all rows
	Split        tabular.Split // of the training set into training and validation rows
	Seed         uint64        // of the split
}

// divides reports whether the split takes validation rows from the training rows.
func (c *Choice) divides() bool {
	return c.Split != (tabular.Split{}) && c.Split != (tabular.Split{Train: 100})
}

// Place says where the pixels of a run are stored, and in which layout.
type Place struct {
	// CPU is the device that trains. If it multiplies rows with cols pixels as integers, which
	// Packs reports, the training rows have the layout of these products. nil: the rows have the
	// layout of the file.
	CPU   *cpu.Device
	Packs func(cols int) bool
	// Own returns the range of n rows that this process keeps; nil: all rows.
	Own   func(n int) (from, to int)
	Pages *mapped.Dir // the mapped files of the pixels; nil: the pixels are in memory
}

// Pixels are the 8-bit rows of a split.
type Pixels interface {
	matrix.EightBit
	matrix.RowStore
	SetScale(scale float64)
}

// Part has the classes and the pixels of a split. Pixels replaces the pixels of the selection.
type Part struct {
	picture.Selection
	Pixels Pixels
}

// Pictures are the pictures of a run.
type Pictures struct {
	Train, Test Part
	Validation  *Part     // nil: no validation rows
	Center      []float64 // moments of the training rows
	Deviation   float64

	choice       Choice
	place        Place
	chosen, held *picture.Choice   // the training rows, with those for validation, and the test rows
	division     *picture.Division // of chosen; nil: all are training rows
	cols         int
	packed       bool // the training rows have the layout of the integer products of the CPU
}

// readPictures chooses rows of the training set and of the test set, and reads their pixels.
func readPictures(train, test *picture.Pictures, c Choice, place Place) (*Pictures, error) {
	a := &Pictures{choice: c, place: place}
	if err := a.choose(train, test); err != nil {
		return nil, err
	}
	return a, a.read()
}

// choose chooses the rows of the classes. It reads no pixels.
func (a *Pictures) choose(train, test *picture.Pictures) (err error) {
	if a.chosen, err = train.Choose(a.choice.Classes, a.choice.RowsPerClass); err != nil {
		return err
	}
	if a.held, err = test.Choose(a.choice.Classes, 0); err != nil {
		return err
	}
	a.Train.Selection, a.Test.Selection = a.chosen.Selection, a.held.Selection
	if a.choice.divides() {
		if a.division, err = a.chosen.Divide(a.choice.Split, a.choice.Seed); err != nil {
			return err
		}
		a.Train.Selection, a.Validation = a.division.Train, &Part{Selection: a.division.Validation}
	}
	_, a.cols = a.chosen.Dims()
	a.packed = a.place.CPU != nil && a.place.Packs(a.cols)
	return nil
}

// parts returns the splits: the training rows first.
func (a *Pictures) parts() []*Part {
	if a.Validation == nil {
		return []*Part{&a.Train, &a.Test}
	}
	return []*Part{&a.Train, a.Validation, &a.Test}
}

// allocate allocates the pixels of all parts.
func (a *Pictures) allocate() (err error) {
	allocate := a.allocator()
	for i, part := range a.parts() {
		if own := a.place.Own; own != nil {
			from, to := own(part.Rows())
			part.Pixels = newLocalPixels(part.Rows(), from, to, a.cols)
		} else if i == 0 && a.packed {
			part.Pixels, err = a.place.CPU.NewBytesIn(allocate, part.Rows(), a.cols, picture.PixelScale)
		} else {
			x := &matrix.Bytes{Rows: part.Rows(), Cols: a.cols, Scale: picture.PixelScale}
			x.Data, err = allocate(x.Rows * x.Cols)
			part.Pixels = x
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// allocator returns the Allocator of the pixels: in pages, if the run has pages.
func (a *Pictures) allocator() kernel.Allocator {
	pages := a.place.Pages
	if pages == nil {
		return func(n int) ([]byte, error) { return kernel.Alloc[uint8](n), nil }
	}
	return func(n int) ([]byte, error) { return mapped.Make[byte](pages, n) }
}

// read reads the pixels of all parts from the data set's files.
func (a *Pictures) read() error {
	if err := a.allocate(); err != nil {
		return err
	}
	reading := relay.Go(func() error { return a.held.Read(a.Test.Pixels) })
	err := a.readChosen()
	if heldErr := reading(); err == nil {
		err = heldErr
	}
	return err
}

// readChosen reads the pixels of the training and validation rows.
func (a *Pictures) readChosen() error {
	if a.division == nil {
		err := a.chosen.Read(a.Train.Pixels)
		if err == nil {
			a.Center, a.Deviation = a.chosen.Moments()
		}
		return err
	}
	err := a.division.Read(a.Train.Pixels, a.Validation.Pixels)
	if err == nil {
		a.Center, a.Deviation = a.division.Moments()
	}
	return err
}

// localPixels has the pixels of this process's rows. SetRows ignores the other rows.
type localPixels struct {
	*matrix.EightBitPart
	own *matrix.Bytes
}

// newLocalPixels allocates the pixels of rows [from, to), of the given number of rows.
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
