package datasets

import (
	"ppal/datasets/matrix"
	"ppal/internal/paged"
)

// keptSparse keeps the rows of a LIBSVM file: its entries and its labels.
type keptSparse struct {
	*paged.Keeper
	notes, warnings []string
}

// sparseIndex describes the rows in a kept file.
type sparseIndex struct {
	Rows, Cols, Entries             int
	Starts, Columns, Values, Labels int64 // positions; Values 0: all entries are 1
}

// sparseVersion changes when the same file gives other rows.
const sparseVersion = 1

// readSparse reads the user's LIBSVM file, or its kept rows. With Keep and Pages, readSparse keeps
// the rows for later processes.
func (o *TableOptions) readSparse() (*LIBSVM, *keptSparse, error) {
	k := &keptSparse{}
	if k.Keeper = o.keeper(func(path string) any { return []any{"libsvm", sparseVersion, path, o.ZeroBased} }); k.Keeper != nil {
		k.Note = func(text string) { k.notes = append(k.notes, text) }
		k.Warn = func(text string) { k.warnings = append(k.warnings, text) }
		index := &sparseIndex{}
		if kept := k.Open(index); kept != nil {
			file, err := index.read(kept)
			if err == nil {
				k.Used()
				return file, k, nil
			}
			k.Unusable(err)
		}
	}
	f, err := o.open(o.File)
	if err != nil {
		return nil, k, err
	}
	defer f.Close()
	var parser *libsvmParser
	file, err := readLIBSVM(f, o.File, 0, o.Pages, func(p *libsvmParser) { parser = p; o.parser(p) })
	if err != nil {
		return nil, k, err
	}
	if parser.openEnd && isPipe(o.File) {
		k.warnings = append(k.warnings, OpenEnd(o.File))
	}
	x := file.X
	size := paged.KeptBytes[int](len(x.Starts)) + paged.KeptBytes[int32](len(x.Columns)) +
		paged.KeptBytes[float64](len(x.Values)) + paged.KeptBytes[float64](len(file.Labels))
	k.Write(size, func(kept *paged.Kept) (any, error) {
		index := &sparseIndex{Rows: x.Rows, Cols: x.Cols, Entries: len(x.Columns)}
		return index, index.move(kept, file)
	})
	return file, k, nil
}

// move moves the rows to a kept file.
func (i *sparseIndex) move(kept *paged.Kept, file *LIBSVM) (err error) {
	x := file.X
	if x.Starts, i.Starts, err = paged.Move(kept, x.Starts); err != nil {
		return err
	}
	if x.Columns, i.Columns, err = paged.Move(kept, x.Columns); err != nil {
		return err
	}
	if x.Values != nil {
		if x.Values, i.Values, err = paged.Move(kept, x.Values); err != nil {
			return err
		}
	}
	file.Labels, i.Labels, err = paged.Move(kept, file.Labels)
	return err
}

// read returns the rows in a kept file.
func (i *sparseIndex) read(kept *paged.Kept) (file *LIBSVM, err error) {
	x := &matrix.CSR{Rows: i.Rows, Cols: i.Cols}
	if x.Starts, err = paged.Get[int](kept, i.Starts, i.Rows+1); err != nil {
		return nil, err
	}
	if x.Columns, err = paged.Get[int32](kept, i.Columns, i.Entries); err != nil {
		return nil, err
	}
	if i.Values != 0 {
		if x.Values, err = paged.Get[float64](kept, i.Values, i.Entries); err != nil {
			return nil, err
		}
	}
	labels, err := paged.Get[float64](kept, i.Labels, i.Rows)
	return &LIBSVM{X: x, Labels: labels}, err
}
