package session

import (
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/cpu/kernel"
	"ppal/internal/paged"
	"ppal/internal/relay"
)

// pictureSplits are the pictures of a run: chosen first, then read or taken from a kept file.
type pictureSplits struct {
	on           Request
	train, test  pictures
	validation   *pictures         // nil: no validation rows
	chosen, held *picture.Choice   // the training rows, with those for validation, and the test rows
	division     *picture.Division // of chosen; nil: all are training rows
	center       []float64         // moments of the training rows
	deviation    float64
	cols         int
	packed       bool // the training rows have the layout of the CPU's integer products
}

// choose chooses the rows of the classes. The pixels follow later.
func (s Images) choose(train, test *picture.Pictures, on Request) (a *pictureSplits, err error) {
	a = &pictureSplits{on: on}
	if a.chosen, err = train.Choose(s.classes(), s.RowsPerClass); err != nil {
		return nil, err
	}
	if a.held, err = test.Choose(s.classes(), 0); err != nil {
		return nil, err
	}
	a.train.Selection, a.test.Selection = a.chosen.Selection, a.held.Selection
	if s.divides() {
		if a.division, err = a.chosen.Divide(s.Split, s.splitSeed(on.seed)); err != nil {
			return nil, err
		}
		a.train.Selection, a.validation = a.division.Train, &pictures{Selection: a.division.Validation}
	}
	_, a.cols = a.chosen.Dims()
	a.packed = on.devices.cpu != nil && on.packs(a.cols)
	a.train.moments = func() (center []float64, deviation float64) { return a.center, a.deviation }
	return a, nil
}

// divides reports whether Split takes validation rows from the training rows.
func (s Images) divides() bool {
	return s.Split != (tabular.Split{}) && s.Split != (tabular.Split{Train: 100})
}

// splitSeed returns the seed for the choice of the validation rows.
func (s Images) splitSeed(session uint64) uint64 {
	if s.SplitSeed != 0 {
		return s.SplitSeed
	}
	return session
}

// parts returns the splits: the training rows first.
func (a *pictureSplits) parts() (list []*pictures) {
	for _, part := range inSplits(&a.train, a.validation, &a.test) {
		list = append(list, part)
	}
	return list
}

// allocate gives all parts their memory, in the order of parts, from the given function. Processes
// that share the rows allocate memory for their own rows, unless they draw batches from all rows or
// the rows lie in files; they pack their own rows later.
func (a *pictureSplits) allocate(room kernel.Room) (err error) {
	devices := a.on.devices
	own := devices.team != nil && devices.pages == nil && !a.on.batches
	for i, part := range a.parts() {
		if own {
			from, to := devices.share(part.Rows())
			part.pixels = newLocalPixels(part.Rows(), from, to, a.cols)
		} else if i == 0 && a.packed {
			part.pixels, err = devices.cpu.NewBytesIn(room, part.Rows(), a.cols, picture.PixelScale)
		} else {
			x := &matrix.Bytes{Rows: part.Rows(), Cols: a.cols, Scale: picture.PixelScale}
			x.Data, err = room(x.Rows * x.Cols)
			part.pixels = x
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read reads the pixels of all parts, once.
func (a *pictureSplits) read() error {
	pages := a.on.devices.pages
	room := func(n int) ([]byte, error) { return kernel.Alloc[uint8](n), nil }
	if pages != nil {
		room = func(n int) ([]byte, error) { return paged.Make[byte](pages, n) }
	}
	if err := a.allocate(room); err != nil {
		return err
	}
	reading := relay.Go(func() error { return a.held.Read(a.test.pixels) })
	err := a.readChosen()
	if heldErr := reading(); err == nil {
		err = heldErr
	}
	return err
}

// readChosen reads the pixels of the training and validation rows.
func (a *pictureSplits) readChosen() error {
	if a.division == nil {
		err := a.chosen.Read(a.train.pixels)
		if err == nil {
			a.center, a.deviation = a.chosen.Moments()
		}
		return err
	}
	err := a.division.Read(a.train.pixels, a.validation.pixels)
	if err == nil {
		a.center, a.deviation = a.division.Moments()
	}
	return err
}
