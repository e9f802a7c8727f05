package loader

import (
	"context"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/inputfile"
	"ppal/internal/mapped"
)

// sparseIndex describes the rows in a kept file, which has the arrays Starts, Columns, Labels and
// Values.
type sparseIndex struct {
	Rows, Cols, Entries int
	Valued              bool // has values; else all entries are 1
	Queries             []queryRun
}

// sparseVersion changes when the same file gives other rows.
const sparseVersion = 2

// readSparse reads the user's LIBSVM file, or its kept rows. With Keep and Pages, readSparse keeps
// the rows for later processes.
func readSparse(ctx context.Context, o *tabular.TableOptions) (file *LIBSVM, notes, warnings []string, err error) {
	k := newKeeper(o, func(path string) any { return []any{"libsvm", sparseVersion, path, o.ZeroBased} }, &notes, &warnings)
	if k != nil {
		index := &sparseIndex{}
		if kept := k.Open(index); kept != nil {
			if file, ok := readKept(k, kept, index.read); ok {
				return file, notes, warnings, nil
			}
		}
	}
	rows := sparseRows(o)
	rows.Pages = o.Pages
	if file, err = readRows(ctx, o, rows); err != nil {
		return nil, notes, warnings, err
	}
	if rows.openEnd && inputfile.IsPipe(o.File) {
		warnings = append(warnings, inputfile.OpenEnd(o.File))
	}
	x := file.X
	index := sparseIndex{Rows: x.Rows, Cols: x.Cols, Entries: len(x.Columns), Valued: x.Values != nil, Queries: runsOf(file.Queries)}
	arrays := []mapped.Array{mapped.Of(&x.Starts), mapped.Of(&x.Columns), mapped.Of(&file.Labels)}
	if index.Valued {
		arrays = append(arrays, mapped.Of(&x.Values))
	}
	k.Write(index, arrays...)
	return file, notes, warnings, nil
}

// read returns the rows in a kept file.
func (i *sparseIndex) read(kept *mapped.Kept) (file *LIBSVM, err error) {
	x := &matrix.CSR{Rows: i.Rows, Cols: i.Cols}
	file = &LIBSVM{X: x, Queries: queriesOf(i.Queries)}
	if x.Starts, err = mapped.Next[int](kept, i.Rows+1); err != nil {
		return nil, err
	}
	if x.Columns, err = mapped.Next[int32](kept, i.Entries); err != nil {
		return nil, err
	}
	if file.Labels, err = mapped.Next[float64](kept, i.Rows); err != nil {
		return nil, err
	}
	if i.Valued {
		x.Values, err = mapped.Next[float64](kept, i.Entries)
	}
	return file, err
}
