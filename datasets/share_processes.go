package datasets

import (
	"ppal/datasets/matrix"
	"slices"
)

// shares reports whether processes share the rows of the table.
func (o *TableOptions) shares() bool { return o.Share != nil && o.Pages == nil && o.TestFile == "" }

// readOwn reads the features of this process's rows, given the rows of the sheet in each split. The
// encodings know the categories and the missing values of all rows.
func (e *encoded) readOwn(splits [3][]int) error {
	if e.share == nil {
		return nil
	}
	var only []int // numbers in the file
	for _, rows := range splits {
		from, to := e.share.Rows(len(rows))
		for _, row := range rows[from:to] {
			only = append(only, e.sheet.number(row))
		}
	}
	slices.Sort(only)
	var err error
	if len(only) == 0 {
		e.own = &sheet{name: e.sheet.name}
		for _, c := range e.sheet.columns {
			e.own.columns = append(e.own.columns, &column{name: c.name, values: c.values})
		}
	} else {
		e.own, err = e.again(&schema{absent: e.by.Absent, columns: e.by.specs(), only: only, begins: e.sheet.begins})
	}
	if err == nil {
		e.own.source = only
	}
	return e.share.Agree(err)
}

// inOwn returns the positions of this process's rows among its own rows. from is the first of them.
func (e *encoded) inOwn(rows []int) (positions []int, from int) {
	from, to := e.share.Rows(len(rows))
	positions = make([]int, 0, to-from)
	at := 0
	for _, row := range rows[from:to] { // in increasing order
		i, _ := slices.BinarySearch(e.own.source[at:], e.sheet.number(row))
		at += i
		positions = append(positions, at)
	}
	return positions, from
}

// takeOwn returns the features of this process's rows.
func (e *encoded) takeOwn(rows []int) (matrix.Matrix, error) {
	positions, from := e.inOwn(rows)
	own, err := e.by.features(e.own, positions)
	if err != nil {
		return nil, err
	}
	return &matrix.Part{Rows: len(rows), From: from, Own: own}, nil
}

// standardise is Preparation.fit for rows that processes may share. The centres and scales have the
// bits of a single process, because the processes add their rows one after the other.
func (e *encoded) standardise(train []int) (constant []string, err error) {
	if e.share == nil {
		return e.by.fit(e.sheet, train)
	}
	positions, _ := e.inOwn(train)
	var numeric []preparedColumn
	for _, c := range e.by.columns(e.own) {
		if c.numeric() {
			numeric = append(numeric, c)
		}
	}
	all := make([]totals, len(numeric))
	for i := range all {
		all[i] = newTotals()
	}
	each := func(do func(t *totals, x []float64)) error {
		return e.inTurn(all, func() {
			inParallel(len(all), func(i int) { do(&all[i], numeric[i].numbers) })
		})
	}
	if err := each(func(t *totals, x []float64) { t.add(x, positions) }); err != nil {
		return nil, err
	}
	if err := each(func(t *totals, x []float64) { t.addSquares(x, positions) }); err != nil {
		return nil, err
	}
	for i, c := range numeric {
		c.Center, c.Scale = all[i].moments()
	}
	return e.by.checkScales(e.sheet)
}

// inTurn calls add in one process after the other. Each process begins with the totals of the
// process before, and all have the last totals at the end.
func (e *encoded) inTurn(all []totals, add func()) error {
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
