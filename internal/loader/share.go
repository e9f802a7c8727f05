package loader

import (
	"slices"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/recordio"
)

// Shares reports whether processes share the rows of the table.
func Shares(o *tabular.TableOptions) bool {
	return o.Share != nil && o.Pages == nil && o.TestFile == ""
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

// standardise does the work of FitScales for rows that processes may share. The centres and scales
// have the bits of a single process, because the processes add their rows one after the other.
func (e *Encoded) standardise(train []int) (constant []string, err error) {
	if e.share == nil {
		return FitScales(e.By, e.Sheet, train)
	}
	positions, _ := e.localPositions(train)
	groups := groupsOf(preparedColumns(e.By, e.own))
	var all []totals
	begins := make([]int, len(groups)) // of each group in all
	for i, g := range groups {
		begins[i] = len(all)
		for range g {
			all = append(all, newTotals())
		}
	}
	each := func(do func(g numbers, of []totals)) error {
		return e.inTurn(all, func() {
			recordio.InParallel(len(groups), func(i int) { do(groups[i], all[begins[i]:][:len(groups[i])]) })
		})
	}
	if err := each(func(g numbers, of []totals) { g.add(of, positions) }); err != nil {
		return nil, err
	}
	if err := each(func(g numbers, of []totals) { g.addSquares(of, positions) }); err != nil {
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
