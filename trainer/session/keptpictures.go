package session

import (
	"path/filepath"
	"strings"

	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/paged"
)

// keptPictures keeps the pixels of the splits for later sessions, with the checksums of the data
// set's files. A later session with the same files, classes, numbers of rows, split and layout
// reads labels only. The methods of a nil *keptPictures do nothing.
type keptPictures struct {
	*paged.Keeper
	splits          *pictureSplits
	notes, warnings []string
}

// picturesVersion changes when the same files and options give other bytes.
const picturesVersion = 1

// picturesIndex describes a kept file, whose arrays are the copies of the pixels of all parts, in
// the order of pictureSplits.parts.
type picturesIndex struct {
	Center    []float64 // moments of the training rows
	Deviation float64
}

// keeper returns the keeper of the pixels of the splits: nil for a built-in set, which a seed
// generates, and without bounded memory.
func (s Images) keeper(a *pictureSplits, dir string, report func() (*datasets.Report, error)) *keptPictures {
	d := a.on.devices
	if d.pages == nil || d.options.keptRows() == "" || builtIn(s.Dataset) {
		return nil
	}
	path, err := filepath.Abs(dir)
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
	}{Version: picturesVersion, Dataset: s.Dataset, Dir: path, Classes: s.classes(), RowsPerClass: s.RowsPerClass}
	if a.division != nil {
		key.Split, key.Seed = s.Split, s.splitSeed(a.on.seed)
	}
	if a.packed {
		key.Packed, key.Layout = true, d.cpu.NewBytes(0, a.cols, 1).Layout()
	}
	k := &keptPictures{splits: a}
	files, err := datasets.Paths(dir, s.Dataset)
	if err != nil {
		return nil
	}
	k.Keeper = d.pages.NewKeeper(d.options.keptRows(), s.Dataset, files, key, func() (string, error) {
		r, err := report()
		if err != nil {
			return "", err
		}
		var sums []string
		for _, f := range r.Files {
			sums = append(sums, f.SHA256)
		}
		return strings.Join(sums, " "), nil
	})
	if k.Keeper == nil {
		return nil
	}
	k.Note = func(text string) { k.notes = append(k.notes, text) }
	k.Warn = func(text string) { k.warnings = append(k.warnings, text) }
	return k
}

// load gives the splits the pixels in the kept file, and reports whether there is one.
func (k *keptPictures) load() bool {
	if k == nil {
		return false
	}
	index := &picturesIndex{}
	file := k.Open(index)
	if file == nil {
		return false
	}
	err := k.splits.allocate(func(n int) ([]byte, error) { return paged.Next[byte](file, n) })
	if err == nil && len(index.Center) != k.splits.cols {
		err = paged.ErrDamaged
	}
	if err != nil {
		k.Unusable(err)
		return false
	}
	k.splits.center, k.splits.deviation = index.Center, index.Deviation
	k.Used()
	return true
}

// write keeps the pixels of the splits, which then lie in the kept file.
func (k *keptPictures) write() {
	if k == nil {
		return
	}
	var arrays []paged.Array
	for _, part := range k.splits.parts() {
		for _, values := range part.pixels.Copies() {
			arrays = append(arrays, paged.Of(values))
		}
	}
	k.Write(picturesIndex{Center: k.splits.center, Deviation: k.splits.deviation}, arrays...)
}

// describe adds the remarks on kept rows to a description.
func (k *keptPictures) describe(d *Description) {
	if k != nil {
		d.Notes, d.Warnings = append(d.Notes, k.notes...), append(d.Warnings, k.warnings...)
	}
}
