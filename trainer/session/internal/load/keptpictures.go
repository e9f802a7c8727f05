package load

import (
	"path/filepath"

	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/mapped"
)

// keptPictures keeps the pixels of the splits, with the checksums of the data set's files, for
// later sessions. A later session with the same files, classes, numbers of rows, split and layout
// reads only the labels from the data set. The methods of a nil *keptPictures do nothing.
type keptPictures struct {
	*mapped.Keeper
	pictures *Pictures
}

// picturesVersion is the version of the kept pixels. Increase it when the same files and options
// give other bytes.
const picturesVersion = 1

// picturesIndex is the index of a kept file. The arrays of the file are the copies of the pixels of
// all parts, in the order of Pictures.parts.
type picturesIndex struct {
	Center    []float64 // moments of the training rows
	Deviation float64
}

// keeper returns the keeper of the pixels of the splits, or nil if the pixels are not kept.
func (a *Pictures) keeper() *keptPictures {
	c, place := a.choice, a.place
	if place.Pages == nil || place.Kept == "" {
		return nil
	}
	path, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil
	}
	key := struct {
		Version      int
		Dataset, Dir string
		Classes      []int
		RowsPerClass int
		Split        tabular.Split
		Seed         uint64
		Packed       bool
		Layout       any
	}{Version: picturesVersion, Dataset: c.Dataset, Dir: path, Classes: c.Classes, RowsPerClass: c.RowsPerClass}
	if a.division != nil {
		key.Split, key.Seed = c.Split, c.Seed
	}
	if a.packed {
		key.Packed, key.Layout = true, place.CPU.NewBytes(0, a.cols, 1).Layout()
	}
	files, err := datasets.Paths(c.Dir, c.Dataset)
	if err != nil {
		return nil
	}
	k := &keptPictures{pictures: a, Keeper: place.Pages.NewKeeper(place.Kept, c.Dataset, files, key, place.Sums)}
	if k.Keeper == nil {
		return nil
	}
	k.Note = func(text string) { a.Notes = append(a.Notes, text) }
	k.Warn = func(text string) { a.Warnings = append(a.Warnings, text) }
	return k
}

// load reads the pixels of the splits from the kept file. It reports whether the file could be
// used.
func (k *keptPictures) load() bool {
	if k == nil {
		return false
	}
	index := &picturesIndex{}
	file := k.Open(index)
	if file == nil {
		return false
	}
	err := k.pictures.allocate(func(n int) (pixels []byte, err error) {
		err = file.Read(mapped.Of(&pixels, n))
		return pixels, err
	})
	if err == nil && len(index.Center) != k.pictures.cols {
		err = mapped.ErrDamaged
	}
	if err != nil {
		k.Unusable(err)
		return false
	}
	k.pictures.Center, k.pictures.Deviation = index.Center, index.Deviation
	k.Used()
	return true
}

// write moves the pixels of the splits to a new kept file.
func (k *keptPictures) write() {
	if k == nil {
		return
	}
	var arrays []mapped.Array
	for _, part := range k.pictures.parts() {
		for _, values := range part.Pixels.Copies() {
			arrays = append(arrays, mapped.Of(values, len(*values)))
		}
	}
	k.Write(picturesIndex{Center: k.pictures.Center, Deviation: k.pictures.Deviation}, arrays...)
}
