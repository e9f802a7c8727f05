package loader

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	_ "ppal/internal/npyfile" // the user's file may hold arrays
	"ppal/internal/recordio"
)

// inBlock reports whether a column of a file lies in a block of numbers.
func inBlock(text *recordio.Delimited, field int) bool {
	for _, b := range text.Blocks() {
		if field >= b.First && field < b.First+b.Columns {
			return true
		}
	}
	return false
}

// arrayReader makes the profiles of the columns that lie in blocks. It looks for the numbers that
// are not finite; the other numbers need no look.
type arrayReader struct {
	blocks  []recordio.Block
	places  [][]int // of each block: the index of each column's profile, or -1
	columns []*UserColumn
	rows    atomic.Int64 // that the workers have read
}

// newArrayReader returns a reader of the columns of a file that are wide.
func newArrayReader(text *recordio.Delimited, columns []*UserColumn) *arrayReader {
	r := &arrayReader{columns: columns}
	at := 0
	for _, b := range text.Blocks() {
		places, used := make([]int, b.Columns), false
		for j := range places {
			for at < len(columns) && columns[at].Field < b.First+j {
				at++
			}
			if places[j] = -1; at < len(columns) && columns[at].Field == b.First+j && columns[at].wide {
				places[j], used = at, true
			}
		}
		if used {
			r.blocks, r.places = append(r.blocks, b), append(r.places, places)
		}
	}
	return r
}

// worker returns a function that adds the rows of a chunk to the profiles of all columns.
func (r *arrayReader) worker() func(c recordio.Chunk, profiles []*columnar.Profile) error {
	var single []float32
	var double []float64
	return func(c recordio.Chunk, profiles []*columnar.Profile) error {
		for k, b := range r.blocks {
			rows := c.Rows.(recordio.RowRange)
			var err error
			if b.Single {
				single, err = lookAt(&b, rows, single, b.Read32, r.places[k], profiles)
			} else {
				double, err = lookAt(&b, rows, double, b.Read64, r.places[k], profiles)
			}
			if err != nil {
				return err
			}
			if k == 0 {
				r.rows.Add(int64(rows.To - rows.From))
			}
		}
		return nil
	}
}

// end completes the profiles of the columns.
func (r *arrayReader) end() {
	for _, c := range r.columns {
		if c.wide {
			c.Profile.EndNumbers(int(r.rows.Load()))
		}
	}
}

// lookAt reads rows of a block, and adds the numbers that are not finite to their profiles, whose
// indices are places. It returns the buffer for the next rows.
func lookAt[T float32 | float64](b *recordio.Block, rows recordio.RowRange, buffer []T, read func(dst []T, from, to int) error, places []int,
	profiles []*columnar.Profile) ([]T, error) {
	n := (rows.To - rows.From) * b.Columns
	buffer = slices.Grow(buffer[:0], n)[:n]
	if err := read(buffer, rows.From, rows.To); err != nil {
		return nil, err
	}
	columnar.NotFinite(buffer, func(i int) bool {
		if place := places[i%b.Columns]; place >= 0 {
			var at *dataerr.FileError
			errors.As(b.Fail(rows.From+i/b.Columns, i%b.Columns, nil), &at)
			profiles[place].AddUnusual(float64(buffer[i]), at)
		}
		return true
	})
	return buffer, nil
}

// numbers are columns of numbers whose totals are computed together: neighbours in a Wide, or one
// column.
type numbers []preparedColumn

// mostTogether is the largest number of columns of a group, whose totals stay in a core's nearest
// cache.
const mostTogether = 256

// groupsOf divides the columns of numbers into groups.
func groupsOf(columns []preparedColumn) (groups []numbers) {
	for i := 0; i < len(columns); {
		if !columns[i].Numeric() {
			i++
			continue
		}
		end := i + 1
		for end < len(columns) && end-i < mostTogether && follows(&columns[end-1], &columns[end]) {
			end++
		}
		groups = append(groups, columns[i:end])
		i = end
	}
	return groups
}

// follows reports whether two columns of numbers are neighbours in a Wide.
func follows(c, next *preparedColumn) bool {
	return next.Numeric() && c.Wide != nil && next.Wide == c.Wide && next.At == c.At+1
}

// add adds the rows to the totals, as totals.add does for one column.
func (g numbers) add(all []totals, rows []int, weights []float64) {
	switch w := g[0].Wide; {
	case w == nil:
		all[0].add(g[0].Numbers, rows, weights)
	case weights != nil || slices.ContainsFunc(g, func(c preparedColumn) bool { return c.Lacks }):
		for k := range g {
			all[k].add(g[k].Listed(), rows, weights)
		}
	case w.Single != nil:
		addWide(all, w.Single, w.Columns, g[0].At, rows)
	default:
		addWide(all, w.Double, w.Columns, g[0].At, rows)
	}
}

// addSquares adds the squares of the distances to the mean, as totals.addSquares does.
func (g numbers) addSquares(all []totals, rows []int, weights []float64) {
	switch w := g[0].Wide; {
	case w == nil:
		all[0].addSquares(g[0].Numbers, rows, weights)
	case weights != nil:
		for k := range g {
			all[k].addSquares(g[k].Listed(), rows, weights)
		}
	case w.Single != nil:
		addWideSquares(all, w.Single, w.Columns, g[0].At, rows)
	default:
		addWideSquares(all, w.Double, w.Columns, g[0].At, rows)
	}
}

// end sets the centres and the scales.
func (g numbers) end(all []totals) {
	for k := range g {
		g[k].Center, g[k].Scale = all[k].moments()
	}
}

// addWide adds rows of columns without missing values.
func addWide[T float32 | float64](all []totals, x []T, columns, at int, rows []int) {
	sum, least, most := make([]float64, len(all)), make([]T, len(all)), make([]T, len(all))
	for j := range all {
		sum[j], least[j], most[j] = all[j].sum, T(math.Inf(1)), T(math.Inf(-1))
	}
	for _, i := range rows {
		row := x[i*columns+at:][:len(sum)]
		least, most := least[:len(row)], most[:len(row)]
		for j := range sum {
			v := row[j]
			sum[j] += float64(v)
			if v < least[j] {
				least[j] = v
			}
			if v > most[j] {
				most[j] = v
			}
		}
	}
	for j := range all {
		t := &all[j]
		t.n, t.sum = t.n+float64(len(rows)), sum[j]
		t.least, t.most = min(t.least, float64(least[j])), max(t.most, float64(most[j]))
	}
}

func addWideSquares[T float32 | float64](all []totals, x []T, columns, at int, rows []int) {
	mean, squares := make([]float64, len(all)), make([]float64, len(all))
	for j, t := range all {
		mean[j], squares[j] = t.sum/t.n, t.squares
	}
	for _, i := range rows {
		row := x[i*columns+at:][:len(mean)]
		squares := squares[:len(row)]
		for j, m := range mean {
			if d := float64(row[j]) - m; d == d {
				squares[j] += d * d
			}
		}
	}
	for j := range all {
		all[j].squares = squares[j]
	}
}

// number returns the number of a row of the sheet.
func (c *preparedColumn) number(row int) float64 {
	switch w := c.Wide; {
	case w == nil:
		return c.Numbers[row]
	case w.Single != nil:
		return float64(w.Single[row*w.Columns+c.At])
	default:
		return w.Double[row*w.Columns+c.At]
	}
}

// wideRun is a run of neighbouring columns of a Wide that give neighbouring features. No number of
// them is missing.
type wideRun struct {
	*columnar.Wide
	from, feature int // the first column, and its feature
	center, scale []float64
}

// findRuns finds the runs of two columns or more.
func findRuns(columns []preparedColumn) {
	for i := 0; i < len(columns); {
		end := i + 1
		for end < len(columns) && columns[i].Numeric() && !columns[end-1].Encoding.Missing && !columns[end].Encoding.Missing && follows(&columns[end-1], &columns[end]) {
			end++
		}
		if end > i+1 {
			run := &wideRun{Wide: columns[i].Wide, from: columns[i].At, feature: columns[i].at}
			for k := i; k < end; k++ {
				columns[k].within = k > i
				run.center, run.scale = append(run.center, columns[k].Center), append(run.scale, columns[k].Scale)
			}
			columns[i].run = run
		}
		i = end
	}
}

// writeRun writes the features of a run of columns: see writeFeatures.
func writeRun[T matrix.Float](r *wideRun, rows []int, out []T, width int) {
	if r.Single != nil {
		writeWide(r, r.Single, rows, out, width)
	} else {
		writeWide(r, r.Double, rows, out, width)
	}
}

func writeWide[S float32 | float64, T matrix.Float](r *wideRun, x []S, rows []int, out []T, width int) {
	for k, i := range rows {
		own, features := x[i*r.Columns+r.from:][:len(r.center)], out[k*width+r.feature:][:len(r.center)]
		scale := r.scale[:len(r.center)]
		for j, center := range r.center {
			features[j] = T(tabular.Standardise(float64(own[j]), center, scale[j]))
		}
	}
}
