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
	wides   []*columnar.Wide // of each block: keeps the numbers; nil: they are not kept
	rows    atomic.Int64     // that the workers have read
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
	r.wides = make([]*columnar.Wide, len(r.blocks))
	return r
}

// keep lets the workers keep the numbers, so that the file is read once.
func (r *arrayReader) keep(checkMemory func(bytes uint64) error) (err error) {
	for k := range r.blocks {
		if r.wides[k], err = columnar.NewWide(&r.blocks[k], r.blocks[k].Rows, nil, checkMemory); err != nil {
			return err
		}
	}
	return nil
}

// kept returns the numbers that the workers have kept, by the first field of their block.
func (r *arrayReader) kept() map[int]*columnar.Wide {
	kept := map[int]*columnar.Wide{}
	for k, w := range r.wides {
		if w != nil {
			kept[r.blocks[k].First] = w
		}
	}
	return kept
}

// worker returns a function that adds the rows of a chunk to the profiles of all columns.
func (r *arrayReader) worker() func(c recordio.Chunk, profiles []*columnar.Profile) error {
	var single []float32
	var double []float64
	return func(c recordio.Chunk, profiles []*columnar.Profile) error {
		for k := range r.blocks {
			b, rows := &r.blocks[k], c.Rows.(recordio.RowRange)
			from, n := rows.From*b.Columns, (rows.To-rows.From)*b.Columns
			var err error
			switch w := r.wides[k]; {
			case b.Single && w != nil:
				err = lookAt(r, k, rows, w.Single[from:][:n], b.Read32, profiles)
			case b.Single:
				single = slices.Grow(single[:0], n)[:n]
				err = lookAt(r, k, rows, single, b.Read32, profiles)
			case w != nil:
				err = lookAt(r, k, rows, w.Double[from:][:n], b.Read64, profiles)
			default:
				double = slices.Grow(double[:0], n)[:n]
				err = lookAt(r, k, rows, double, b.Read64, profiles)
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

// lookAt reads rows of block k to numbers, and adds those that are not finite to their profiles.
func lookAt[T float32 | float64](r *arrayReader, k int, rows recordio.RowRange, numbers []T, read func(dst []T, from, to int) error,
	profiles []*columnar.Profile) error {
	if err := read(numbers, rows.From, rows.To); err != nil {
		return err
	}
	b := &r.blocks[k]
	columnar.NotFinite(numbers, func(i int) bool {
		if place := r.places[k][i%b.Columns]; place >= 0 {
			var at *dataerr.FileError
			errors.As(b.Fail(rows.From+i/b.Columns, i%b.Columns, nil), &at)
			profiles[place].AddUnusual(float64(numbers[i]), at)
		}
		return true
	})
	return nil
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
	case g.apart(weights):
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
	case g.apart(weights):
		for k := range g {
			all[k].addSquares(g[k].Listed(), rows, weights)
		}
	case w.Single != nil:
		addWideSquares(all, w.Single, w.Columns, g[0].At, rows)
	default:
		addWideSquares(all, w.Double, w.Columns, g[0].At, rows)
	}
}

// apart reports whether the totals of each column are computed apart.
func (g numbers) apart(weights []float64) bool {
	return g[0].Wide == nil || weights != nil || slices.ContainsFunc(g, func(c preparedColumn) bool { return c.Lacks })
}

// end sets the centres and the scales.
func (g numbers) end(all []totals) {
	for k := range g {
		g[k].Center, g[k].Scale = all[k].moments()
	}
}

// addWide adds rows of columns without missing values. The least and the largest number of a column
// matter only while all its numbers are equal or may be 0 and 1; after that they are infinite.
func addWide[T float32 | float64](all []totals, x []T, columns, at int, rows []int) {
	sum, open := make([]float64, len(all)), make([]bool, len(all))
	for j := range all {
		sum[j], open[j] = all[j].sum, true
	}
	extremes := func(j int, numbers ...T) {
		t := &all[j]
		for _, v := range numbers {
			t.least, t.most = min(t.least, float64(v)), max(t.most, float64(v))
		}
		if open[j] = t.least == t.most || t.least == 0 && t.most == 1; !open[j] {
			t.least, t.most = math.Inf(-1), math.Inf(1)
		}
	}
	byFour(x, columns, at, len(all), rows, func(a, b, c, d []T) {
		a, b, c, d = a[:len(sum)], b[:len(sum)], c[:len(sum)], d[:len(sum)]
		open := open[:len(sum)]
		for j, s := range sum {
			sum[j] = s + float64(a[j]) + float64(b[j]) + float64(c[j]) + float64(d[j])
			if open[j] {
				extremes(j, a[j], b[j], c[j], d[j])
			}
		}
	}, func(row []T) {
		for j, v := range row {
			sum[j] += float64(v)
			if open[j] {
				extremes(j, v)
			}
		}
	})
	for j := range all {
		all[j].n, all[j].sum = all[j].n+float64(len(rows)), sum[j]
	}
}

// addWideSquares adds the squares of the distances to the mean of columns without missing values.
func addWideSquares[T float32 | float64](all []totals, x []T, columns, at int, rows []int) {
	mean, squares := make([]float64, len(all)), make([]float64, len(all))
	for j, t := range all {
		mean[j], squares[j] = t.sum/t.n, t.squares
	}
	byFour(x, columns, at, len(all), rows, func(a, b, c, d []T) {
		a, b, c, d = a[:len(mean)], b[:len(mean)], c[:len(mean)], d[:len(mean)]
		squares := squares[:len(mean)]
		for j, m := range mean {
			v, w, x, y := float64(a[j])-m, float64(b[j])-m, float64(c[j])-m, float64(d[j])-m
			squares[j] = squares[j] + v*v + w*w + x*x + y*y
		}
	}, func(row []T) {
		for j, v := range row {
			d := float64(v) - mean[j]
			squares[j] += d * d
		}
	})
	for j := range all {
		all[j].squares = squares[j]
	}
}

// byFour calls four with the given columns of four rows at a time, which halves the time of totals,
// and one with those of each row that remains, in the order of the rows.
func byFour[T float32 | float64](x []T, columns, at, width int, rows []int, four func(a, b, c, d []T), one func(row []T)) {
	row := func(i int) []T { return x[i*columns+at:][:width] }
	for ; len(rows) >= 4; rows = rows[4:] {
		four(row(rows[0]), row(rows[1]), row(rows[2]), row(rows[3]))
	}
	for _, i := range rows {
		one(row(i))
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
