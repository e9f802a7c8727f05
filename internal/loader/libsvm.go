package loader

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/mapped"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// LIBSVM is the content of a file in LIBSVM's format; see recordio.SparseReader.
type LIBSVM struct {
	X       *matrix.CSR      // nil if Singles has the rows
	Singles *matrix.Singles  // see SparseRows.Dense; nil: X has the rows
	Labels  []float64        // the numbers in the file: +1 and -1, classes, or grades of relevance
	Queries *tabular.Queries // the rows' qid, without grades; nil: the file has no qid
}

// LoadLIBSVM reads the rows of a file.
func LoadLIBSVM(path string, cols int) (*LIBSVM, error) {
	return loadLIBSVM(path, &SparseRows{Cols: cols})
}

func loadLIBSVM(path string, rows *SparseRows) (*LIBSVM, error) {
	f, err := recordio.OpenInput(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return rows.Read(f, path)
}

// SparseRows says how to read the rows of a file in LIBSVM's format.
type SparseRows struct {
	Cols  int     // number of features; 0: the largest index
	Shift int     // as in recordio.SparseReader
	Most  float64 // as in recordio.SparseReader
	Pages *mapped.Dir
	// CheckMemory is TableOptions.CheckMemory.
	CheckMemory func(bytes uint64) error
	// Dense keeps the rows as floats if at least a third of the elements is not 0, unless Pages is
	// set.
	Dense bool
	// first, if not nil, keeps few of the entries, and counts them
	first *firstReading
	only  recordio.Only

	singles *singleList // the rows as floats; nil: entries
	labels  *mapped.List[float64]
	queries queryList
	starts  *mapped.List[int]
	columns *mapped.List[int32]
	values  *mapped.List[float64]
	size    int64 // of the file; 0: not known
	rows    int   // with the rows that are not selected
	lines   int   // rows that are selected
	entries int
	valued  bool // values has the entries; otherwise all are 1
	grouped bool // the rows have queries
	largest int
	begins  []int // the number of the first row of each chunk, and of all rows
	openEnd bool  // the last line has no line end
}

// sparsePart holds the rows of a chunk.
type sparsePart struct {
	recordio.Entries
	rows    int // with the rows that are not selected
	labels  []float64
	queries []queryRun
	grouped bool  // the first row has a query
	line    int   // of the first row
	ends    []int // of the rows among the entries
	counts  []int32
	bytes   int // of the chunk
}

// errQueries is the error of a row with a query after rows without one, or the reverse.
var errQueries = fmt.Errorf("%w: some rows have a qid and some have none", dataerr.ErrFormat)

// Read reads rows from r, plain or gzip. It skips blank lines and leaves out entries with the value
// 0. If all remaining entries are 1, the matrix has no Values. Workers read chunks into parts, and
// add joins the parts in the order of the file. Read can be called once.
//
// Errors are *FileError with name and line, and wrap ErrFormat (a field that is not a label, a
// query or an entry), ErrNumber, ErrIndex (0, above Cols, or not increasing) or ErrTruncated (a
// truncated compressed file, or no rows); or are errors of r.
func (s *SparseRows) Read(r io.Reader, name string) (*LIBSVM, error) {
	if s.Cols < 0 || s.Cols > textvalue.MaxIndex {
		return nil, fmt.Errorf("datasets: %d features for %s, want 1 to %d, or 0 for the number in the file", s.Cols, name, textvalue.MaxIndex)
	}
	r = recordio.Steady(r)
	text, err := recordio.OpenSparse(r, name)
	if err != nil {
		return nil, err
	}
	s.size = recordio.Size(r)
	s.labels = mapped.NewList[float64](s.Pages)
	s.starts, s.columns, s.values = mapped.NewList[int](s.Pages), mapped.NewList[int32](s.Pages), mapped.NewList[float64](s.Pages)
	next := func(buffer []byte) (recordio.Chunk, error) {
		c, err := text.Next(buffer)
		s.openEnd = err == nil && c.OpenEnd() || err == io.EOF && s.openEnd
		return c, err
	}
	add := func(p *sparsePart) error {
		if p.grouped != s.grouped && s.rows > 0 && p.rows > 0 {
			return &dataerr.FileError{Path: name, Offset: -1, Line: p.line, Err: errQueries}
		}
		return s.add(p)
	}
	if err := recordio.InOrder(s.only.Chunks(next), func() func(recordio.Chunk, *sparsePart) error { return s.worker(name) }, add); err != nil {
		return nil, err
	}
	return s.end(name)
}

// worker returns a function that reads the rows of a chunk up to the first error.
func (s *SparseRows) worker(name string) func(c recordio.Chunk, p *sparsePart) error {
	rows := &recordio.SparseReader{Name: name, Cols: s.Cols, Shift: s.Shift, Most: s.Most}
	return func(c recordio.Chunk, p *sparsePart) error {
		p.Reset()
		lines := bytes.Count(c.Text, []byte("\n")) + 1 // memory for all rows at once
		p.Columns = slices.Grow(p.Columns, bytes.Count(c.Text, []byte(":")))
		*p = sparsePart{Entries: p.Entries, labels: slices.Grow(p.labels[:0], lines), queries: p.queries[:0], ends: slices.Grow(p.ends[:0], lines),
			counts: p.counts[:0], bytes: len(c.Text)}
		selected := s.only.In(c)
		err := rows.Each(c, func() error {
			query, err := rows.Query()
			grouped := query != nil || err != nil
			if p.rows == 0 {
				p.grouped, p.line = grouped, rows.Line()
			} else if grouped != p.grouped {
				err = errQueries
			}
			if err != nil {
				return rows.Fail(err)
			}
			if p.rows++; !selected() {
				return nil
			}
			from := len(p.Columns)
			if err := rows.Append(&p.Entries); err != nil {
				return rows.Fail(err)
			}
			if s.first != nil {
				p.counts = append(p.counts, s.first.keep(&p.Entries, from))
			}
			_, label := rows.Label()
			p.labels, p.ends = append(p.labels, label), append(p.ends, len(p.Columns))
			if last := len(p.queries) - 1; last >= 0 && p.queries[last].is(query) {
				p.queries[last].Rows++
			} else if grouped {
				p.queries = append(p.queries, queryRun{string(query), 1})
			}
			return nil
		})
		if err == nil {
			err = s.only.Check(c, p.rows, name)
		}
		return err
	}
}

// add adds the rows of a part.
func (s *SparseRows) add(p *sparsePart) error {
	if s.rows == 0 {
		s.grouped = p.grouped
	}
	s.begins = append(s.begins, s.rows)
	if s.lines == 0 {
		s.reserve(p)
	}
	if s.singles != nil {
		return s.addSingles(p)
	}
	if s.first != nil {
		s.first.counts = append(s.first.counts, p.counts...)
	}
	starts := p.ends // replaced by the places where the rows begin
	for i, from := 0, s.entries; i < len(starts); i++ {
		starts[i], from = from, s.entries+starts[i]
	}
	if p.Values != nil && !s.valued { // the first part with values: all entries before are 1
		s.valued = true
		if err := s.ones(s.entries); err != nil {
			return err
		}
	}
	if s.valued && p.Values == nil {
		if err := s.ones(len(p.Columns)); err != nil {
			return err
		}
	}
	for _, err := range []error{s.labels.Append(p.labels), s.starts.Append(starts),
		s.columns.Append(p.Columns), s.values.Append(p.Values)} {
		if err != nil {
			return err
		}
	}
	s.count(p)
	if s.CheckMemory == nil || s.Pages != nil {
		return nil
	}
	const word, column = 8, 4
	bytes := (2*word)*s.lines + column*s.entries
	if s.valued {
		bytes += word * s.entries
	}
	return s.CheckMemory(columnar.RowCopies * uint64(bytes))
}

// addSingles does the work of add for rows of floats.
func (s *SparseRows) addSingles(p *sparsePart) error {
	s.singles.add(p)
	s.count(p)
	if err := s.labels.Append(p.labels); err != nil || s.CheckMemory == nil {
		return err
	}
	const word, float = 8, 4
	return s.CheckMemory(uint64(float*s.singles.width+2*word) * uint64(s.lines))
}

// count counts the rows of a part, and adds their queries.
func (s *SparseRows) count(p *sparsePart) {
	for _, run := range p.queries {
		s.queries.add(run)
	}
	s.rows, s.lines, s.entries, s.largest = s.rows+p.rows, s.lines+len(p.labels), s.entries+len(p.Columns), max(s.largest, p.Largest)
}

// ones appends n values of 1.
func (s *SparseRows) ones(n int) error {
	one := recordio.AppendOnes(nil, min(n, 1<<16))
	for ; n > 0; n -= len(one) {
		one = one[:min(n, len(one))]
		if err := s.values.Append(one); err != nil {
			return err
		}
	}
	return nil
}

// reserve allocates memory for the rows of a file that is longer than the first part, if the rest
// has as many rows and entries in each byte. An entry takes at least 4 bytes of the file, so that
// the memory is at most the size of the file. If most files with such a first part have dense rows,
// reserve makes the list of floats.
func (s *SparseRows) reserve(p *sparsePart) {
	const margin = 1.02
	factor := max(1, float64(s.size)/float64(max(1, p.bytes)))
	more := func(n int) int { return int(float64(n) * margin * factor) }
	if width := max(s.Cols, p.Largest); s.Dense && s.Pages == nil && dense(len(p.Columns), len(p.labels), width) {
		s.singles = newSingleList(width, more(len(p.labels)))
		s.labels.Grow(more(len(p.labels)))
		return
	}
	if factor == 1 {
		return
	}
	s.labels.Grow(more(len(p.labels)))
	s.starts.Grow(more(len(p.labels)))
	s.columns.Grow(more(len(p.Columns)))
	if p.Values != nil {
		s.values.Grow(more(len(p.Values)))
	}
}

// end makes the matrix and the labels of all rows. It returns an error if the file has no rows.
func (s *SparseRows) end(name string) (*LIBSVM, error) {
	fail := func(err error, advice string) (*LIBSVM, error) {
		return nil, &dataerr.FileError{Path: name, Offset: -1, Err: err, Advice: advice}
	}
	s.begins = append(s.begins, s.rows)
	x := &matrix.CSR{Rows: s.lines, Cols: s.Cols}
	if s.Cols == 0 {
		x.Cols = s.largest
	}
	switch {
	case s.only.Rows != nil && s.lines != len(s.only.Rows):
		return fail(dataerr.ErrChanged, "")
	case s.lines == 0:
		return fail(dataerr.ErrNoRows, "")
	case x.Cols == 0:
		return fail(fmt.Errorf("%w: no row has an entry", dataerr.ErrFormat), "specify the number of features")
	}
	file := &LIBSVM{X: x}
	if s.singles != nil {
		return s.endSingles(file)
	}
	err := s.starts.Append([]int{s.entries})
	if err == nil {
		x.Starts, err = s.starts.Slice()
	}
	if err == nil {
		x.Columns, err = s.columns.Slice()
	}
	if err == nil && s.valued {
		x.Values, err = s.values.Slice()
	}
	if err == nil {
		file.Labels, err = s.labels.Slice()
	}
	if err == nil && s.grouped {
		file.Queries = s.queries.queries()
	}
	if err == nil && s.Dense && s.Pages == nil && dense(s.entries, x.Rows, x.Cols) {
		file.X, file.Singles = nil, singlesOf(x)
	}
	return file, err
}

// endSingles does the work of end for a list of floats, which may have become too sparse.
func (s *SparseRows) endSingles(file *LIBSVM) (_ *LIBSVM, err error) {
	if dense(s.entries, s.lines, file.X.Cols) {
		file.X, file.Singles = nil, s.singles.matrix(file.X.Cols)
	} else {
		file.X = s.singles.csr(file.X.Cols, s.entries)
	}
	if s.grouped {
		file.Queries = s.queries.queries()
	}
	file.Labels, err = s.labels.Slice()
	return file, err
}

// spread returns the matrix with the rows in only of n rows; the other rows have no entries.
func spread(x *matrix.CSR, only []int, n int) *matrix.CSR {
	out := *x
	out.Rows, out.Starts = n, make([]int, n+1)
	at := 0 // the next row in only
	for i := range n {
		if at < len(only) && only[at] == i {
			at++
		}
		out.Starts[i+1] = x.Starts[at]
	}
	return &out
}

// LibsvmLine returns the line number of a row in the file, or 0 if it does not find the row.
func LibsvmLine(path string, row int) (line int) {
	f, err := recordio.OpenInput(context.Background(), path)
	if err != nil {
		return 0
	}
	defer f.Close()
	text, err := recordio.OpenSparse(f, path)
	if err != nil {
		return 0
	}
	rows := &recordio.SparseReader{Name: path}
	for line == 0 {
		c, err := text.Next(nil)
		if err != nil {
			return 0
		}
		_ = rows.Each(c, func() error { // the caller knows the errors of the rows
			if row == 0 {
				line = rows.Line()
			}
			row--
			return nil
		})
	}
	return line
}
