package loader

import (
	"context"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// Shares reports whether processes share the rows of the table.
func Shares(o *tabular.TableOptions) bool {
	return o.Share != nil && pagesOf(o) == nil && o.TestFile == ""
}

// readLocal reads the features of this process's rows, given the rows of the sheet in each split.
// The encodings know the categories and the missing values of all rows.
func (e *Encoded) readLocal(splits [3][]int) error {
	if e.share == nil {
		return nil
	}
	var only []int // numbers in the file
	for _, rows := range splits {
		from, to := e.share.Rows(len(rows))
		for _, row := range rows[from:to] {
			only = append(only, e.Sheet.Number(row))
		}
	}
	slices.Sort(only)
	var err error
	if len(only) == 0 {
		e.own = &columnar.Sheet{Name: e.Sheet.Name}
		for _, c := range e.Sheet.Columns {
			e.own.Columns = append(e.own.Columns, &columnar.Column{Name: c.Name, Values: c.Values})
		}
	} else {
		e.own, err = e.again(&columnar.Schema{Absent: e.By.Absent, Columns: featureSpecs(e.By), Only: only, Begins: e.Sheet.Begins})
	}
	if err == nil {
		e.own.Source = only
	}
	return e.share.Agree(err)
}

// localPositions takes this process's range of the listed rows, and returns their positions among
// the rows that the process has read. from is the start of the range.
func (e *Encoded) localPositions(rows []int) (positions []int, from int) {
	from, to := e.share.Rows(len(rows))
	positions = make([]int, 0, to-from)
	at := 0
	for _, row := range rows[from:to] { // in increasing order
		i, _ := slices.BinarySearch(e.own.Source[at:], e.Sheet.Number(row))
		at += i
		positions = append(positions, at)
	}
	return positions, from
}

// takeLocal returns the features of this process's rows.
func (e *Encoded) takeLocal(rows []int) (matrix.Matrix, error) {
	positions, from := e.localPositions(rows)
	own, err := MakeFeatures(e.By, e.own, positions)
	if err != nil {
		return nil, err
	}
	return &matrix.Part{Rows: len(rows), From: from, Own: own}, nil
}

// standardise does the work of fitScales for rows that processes may share. The centres and scales
// have the bits of a single process, because the processes add their rows one after the other.
func (e *Encoded) standardise(train []int) (constant []string, err error) {
	own := weightsOf(train, e.weights)
	if e.share == nil {
		return fitScales(e.By, e.Sheet, train, own)
	}
	positions, from := e.localPositions(train)
	if own != nil {
		own = own[from:][:len(positions)]
	}
	groups := groupsOf(preparedColumns(e.By, e.own))
	var all []totals
	begins := make([]int, len(groups)) // of each group in all
	for i, g := range groups {
		begins[i] = len(all)
		for range g {
			all = append(all, newTotals())
		}
	}
	each := func(do func(g numbers, sums []totals)) error {
		return e.inTurn(all, func() {
			recordio.InParallel(len(groups), func(i int) { do(groups[i], all[begins[i]:][:len(groups[i])]) })
		})
	}
	if err := each(func(g numbers, sums []totals) { g.add(sums, positions, own) }); err != nil {
		return nil, err
	}
	if err := each(func(g numbers, sums []totals) { g.addSquares(sums, positions, own) }); err != nil {
		return nil, err
	}
	for i, g := range groups {
		g.end(all[begins[i]:])
	}
	return checkScales(e.By, e.Sheet)
}

// inTurn calls add in one process after the other. Each process begins with the totals of the
// process before, and all have the last totals at the end.
func (e *Encoded) inTurn(all []totals, add func()) error {
	message := make([]float64, 0, 5*len(all))
	for rank := range e.share.Size() {
		message = message[:0]
		if rank == e.share.Rank() {
			add()
			for _, t := range all {
				message = append(message, t.n, t.sum, t.least, t.most, t.squares)
			}
		}
		message = message[:cap(message)]
		if rank != e.share.Rank() {
			clear(message)
		}
		if err := e.share.Sum(message); err != nil {
			return err
		}
		for i := range all {
			m := message[5*i:]
			all[i] = totals{m[0], m[1], m[2], m[3], m[4]}
		}
	}
	return nil
}

// firstReading is what the first of two readings of a LIBSVM file keeps of the entries, if
// processes share the rows: the entries of the columns that give groups and attributes, and how
// many entries each row has.
type firstReading struct {
	wanted, ignored []int32 // columns, from 0; the ignored ones are not counted
	counts          []int32 // by row
}

// keep reduces the entries of the last row, which begin at the given place, and returns how many of
// them are counted.
func (f *firstReading) keep(x *recordio.Entries, from int) (count int32) {
	to := from
	for e := from; e < len(x.Columns); e++ {
		column := x.Columns[e]
		if !slices.Contains(f.ignored, column) {
			count++
		}
		if slices.Contains(f.wanted, column) {
			x.Columns[to] = column
			if x.Values != nil {
				x.Values[to] = x.Values[e]
			}
			to++
		}
	}
	x.Columns = x.Columns[:to]
	if x.Values != nil {
		x.Values = x.Values[:to]
	}
	return count
}

// columnNumbers returns the columns that the texts name by their numbers, from 1 - shift. It skips
// other texts: SparseDesign.Find refuses them.
func columnNumbers(shift int, texts ...string) (columns []int32) {
	for _, text := range texts {
		if n, ok := textvalue.WholeNumber([]byte(text)); ok && n+shift > 0 {
			columns = append(columns, int32(n+shift-1))
		}
	}
	return columns
}

// sharesSparse reports whether processes share the rows of a LIBSVM file. DropSensitive compares
// the entries of all rows.
func sharesSparse(o *tabular.TableOptions) bool { return Shares(o) && !o.DropSensitive }

// readShared reads the labels, the groups and the attributes of all rows, and prepares the second
// reading, of this process's rows. It returns nil for a file with too many features.
func readShared(ctx context.Context, o *tabular.TableOptions) (*LIBSVM, *localSparse, error) {
	first := &firstReading{wanted: columnNumbers(shiftOf(o), slices.Concat(o.Groups, o.Attributes)...), ignored: columnNumbers(shiftOf(o), o.Ignore...)}
	rows := sparseRows(o)
	rows.first = first
	file, err := readRows(ctx, o, rows)
	if err != nil || file.X.Cols > MaxUserFeatures {
		return nil, nil, err
	}
	return file, &localSparse{ctx: ctx, options: o, cols: file.X.Cols, counts: first.counts, begins: rows.begins}, nil
}

// readRows reads the user's LIBSVM file.
func readRows(ctx context.Context, o *tabular.TableOptions, rows *SparseRows) (*LIBSVM, error) {
	f, err := recordio.OpenUntilDone(ctx, o.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return rows.Read(f, o.File)
}

// localSparse reads the entries of this process's rows of a LIBSVM file.
type localSparse struct {
	ctx     context.Context // ends the reading of the file
	options *tabular.TableOptions
	cols    int
	counts  []int32 // entries of each row of the file that are features
	begins  []int   // SparseRows.begins of the first reading
	whole   bool    // this process has all rows
}

// mostShared is the largest share of nonzero elements with which processes share the rows. Products
// with denser rows may read all elements, or bytes, and all processes must choose the same: see
// Integers and kernel.Sparse.Compact.
const mostShared = leastDensity

// readLocal reads the entries of this process's rows, given the rows of each split. The other rows
// are empty.
func (s *sparse) readLocal(splits [3][]int) error {
	if s.own == nil {
		return nil
	}
	share := s.own.options.Share
	all := 0
	for _, n := range s.own.counts {
		all += int(n)
	}
	s.own.whole = float64(all) >= mostShared*float64(len(s.own.counts))*float64(s.Cols)
	var only []int
	for _, rows := range splits {
		from, to := share.Rows(len(rows))
		only = append(only, rows[from:to]...)
	}
	slices.Sort(only)
	rows := sparseRows(s.own.options)
	rows.Cols = s.own.cols
	if !s.own.whole {
		rows.only = recordio.Only{Rows: only, Begins: s.own.begins}
	}
	file, err := &LIBSVM{X: &matrix.CSR{Cols: s.own.cols, Starts: []int{0}}}, error(nil)
	if s.own.whole || len(only) > 0 {
		file, err = readRows(s.own.ctx, s.own.options, rows)
	}
	if err == nil && s.own.whole && len(file.Labels) != len(s.own.counts) {
		err = &dataerr.FileError{Path: s.own.options.File, Offset: -1, Err: dataerr.ErrChanged, Advice: "repeat the command when no program writes to the file"}
	}
	if err == nil {
		if s.x = file.X; !s.own.whole {
			s.x = spread(file.X, only, len(s.own.counts))
		}
	}
	return share.Agree(err)
}

// part returns the rows of a split, of which this process has a range.
func (s *sparse) part(rows []int) matrix.Matrix {
	x := s.x.Select(rows, s.Place, s.Cols)
	if s.own == nil || s.own.whole {
		return x
	}
	p := &matrix.SparsePart{CSR: *x}
	p.From, p.To = s.own.options.Share.Rows(len(rows))
	for _, i := range rows {
		p.All += int(s.own.counts[i])
	}
	return p
}
