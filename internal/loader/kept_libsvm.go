package loader

import (
	"context"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/mapped"
	"ppal/internal/recordio"
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
	rows.Pages, rows.Dense = pagesOf(o), o.Query != ""
	if file, err = readRows(ctx, o, rows); err != nil {
		return nil, notes, warnings, err
	}
	if rows.openEnd && recordio.IsPipe(o.File) {
		warnings = append(warnings, recordio.OpenEnd(o.File))
	}
	if rows.Pages == nil { // nothing is kept
		return file, notes, warnings, nil
	}
	x := file.X
	index := sparseIndex{Rows: x.Rows, Cols: x.Cols, Entries: len(x.Columns), Valued: x.Values != nil, Queries: runsOf(file.Queries)}
	k.Write(index, index.arrays(file)...)
	return file, notes, warnings, nil
}

// arrays returns the arrays of a file.
func (i *sparseIndex) arrays(file *LIBSVM) []mapped.Array {
	x := file.X
	arrays := []mapped.Array{mapped.Of(&x.Starts, i.Rows+1), mapped.Of(&x.Columns, i.Entries), mapped.Of(&file.Labels, i.Rows)}
	if i.Valued {
		arrays = append(arrays, mapped.Of(&x.Values, i.Entries))
	}
	return arrays
}

// read returns the rows in a kept file.
func (i *sparseIndex) read(kept *mapped.Kept) (*LIBSVM, error) {
	file := &LIBSVM{X: &matrix.CSR{Rows: i.Rows, Cols: i.Cols}, Queries: queriesOf(i.Queries)}
	return file, kept.Read(i.arrays(file)...)
}
