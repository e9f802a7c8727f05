// Package newrows reads rows that a trained model has not seen, and prepares them like the
// training rows.
package newrows

import (
	"cmp"
	"io"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/recordio"
)

// NewRows reads rows that a trained model has not seen, in blocks and with bounded memory, and
// prepares the rows on several cores.
type NewRows struct {
	// Preparation describes how columns become features. A preparation with Encodings reads text of
	// separated fields, and a preparation with Numbers reads LIBSVM's format. nil: the rows are
	// pictures.
	Preparation *tabular.Preparation
	// Pixels is the number of bytes of a picture. A feature is Scale times a byte.
	Pixels int
	Scale  float64
	// IgnoreUnknown leaves the features of an unknown category at 0 and skips unknown features of a
	// row in LIBSVM's format. If IgnoreUnknown is false, unknown categories and features are
	// errors.
	IgnoreUnknown bool
	// Separator separates the fields; 0: the separator of the preparation, which may ask to detect
	// it.
	Separator rune
	// JoinFile is the path of a table beside a file of arrays, with the key of the preparation; "":
	// none.
	JoinFile string
	// Keep lists columns, or conditions on columns, whose texts the blocks keep, such as the
	// label's column. In LIBSVM's format, "" keeps the label, and a feature's number keeps "1" for
	// rows with the feature and "0" for other rows.
	Keep []string
	// Required lists columns. A row of text without a value in one of these columns is left out.
	Required []string
	// Work computes the results of the features [rows, width] and appends them to results. Several
	// goroutines call it at the same time, each with rows in the order of the file.
	Work func(features []float64, results []float64) ([]float64, error)
	// Emit receives the blocks in the order of the file, from one goroutine.
	Emit func(b *Block) error
	// Warn receives a sentence about rows of arrays that JoinFile does not name; nil: no sentence.
	Warn func(warning string)

	pausing *recordio.Pausing // the input of Read if its writer may pause
}

// Block holds consecutive rows of a file after Work.
type Block struct {
	First   int        // number of the first row or row that is left out, from 0
	Rows    int        // number of rows
	LeftOut int        // number of rows that are left out
	Source  []int      // number of each row, counted from First; nil: 0, 1, 2 ...
	Results []float64  // as Work returned them
	Kept    [][]string // texts of each column in NewRows.Keep
	Columns []string   // names of the columns in Kept
	Unknown int        // number of unknown categories and features that were ignored
	// OpenEnd says that the last line of a pipe, a terminal or a socket has no line end: if its
	// writer ended early, the last value may be incomplete
	OpenEnd bool
}

// featureBytes limits the memory of the features in one call of Work to a share of a core's cache.
// A single row may need more.
const featureBytes = 256 << 10

// Read reads a plain or gzip file from r to its end: text, Parquet or arrays, or pictures of 8 bits
// in the IDX format with any shape of Pixels bytes. name is used in errors. The columns of a text
// may be in any order, and the file may have columns that the preparation does not need.
//
// Errors are *FileError with line and column: ErrFormat, ErrTruncated (also a file without rows),
// ErrColumn, ErrNumber, ErrCategory, ErrMissing, ErrIndex; or are errors of r, Work or Emit. Blocks
// before the first error in the file are emitted.
//
// If r is a pipe, a terminal or a socket, rows are emitted when their lines have arrived and no
// other line follows at once. The separator is then detected from the first line alone.
func (n *NewRows) Read(r io.Reader, name string) error {
	if n.pausing = recordio.MayPause(r); n.pausing != nil {
		r = n.pausing
		defer n.pausing.Stop()
	}
	switch {
	case n.Preparation == nil:
		return n.readPictures(r, name)
	case len(n.Preparation.Numbers) > 0:
		return n.readLIBSVM(r, name)
	}
	return n.readText(r, name)
}

// readText reads text of separated fields.
func (n *NewRows) readText(r io.Reader, name string) error {
	layout := n.Preparation.Layout
	layout.JoinFile = n.JoinFile
	if n.Separator != 0 {
		layout.Separator = string(n.Separator)
	}
	text, _, err := recordio.OpenDelimited(r, name, layout)
	if err != nil {
		return err
	}
	if note := text.LeftOut(); note != "" && n.Warn != nil {
		n.Warn(note)
	}
	encoder, err := newRowEncoder(n.Preparation, text.Header, n.IgnoreUnknown)
	keep, columns := make([]int, len(n.Keep)), slices.Clone(n.Keep)
	places := recordio.HeaderPlaces{Header: text.Header, Repeated: n.Preparation.Repeated}
	for k, column := range n.Keep {
		if c, bad := columnar.ParseCondition(column, text.Header); bad == nil {
			columns[k] = c.Column
		}
		at, bad := places.Column(columns[k])
		keep[k], err = at, cmp.Or(err, bad)
	}
	var required []int
	for _, column := range n.Required {
		if slices.Contains(text.Header, column) { // the split's column may be absent
			at, bad := places.Column(column)
			required, err = append(required, at), cmp.Or(err, bad)
		}
	}
	if err != nil {
		return &dataerr.FileError{Path: name, Offset: -1, Line: text.HeaderLine, Err: err, Advice: text.MissingColumnAdvice()}
	}
	pixels, err := n.newPixelRows(text, name)
	if err != nil {
		return &dataerr.FileError{Path: name, Offset: -1, Line: text.HeaderLine, Err: err, Advice: text.MissingColumnAdvice()}
	}
	defer pixels.close()
	return n.inOrder(name, columns, text.Next, n.Preparation.Width(), func() decoder {
		own := *encoder
		rows := &textRows{records: text.Records(), encoder: &own, keep: keep, required: required}
		if pixels != nil {
			return &pixelRows{rows, pixels, make([]uint8, n.Preparation.Width())}
		}
		return rows
	})
}

// decoder decodes the rows of chunks: text of separated fields, rows in LIBSVM's format, pictures.
type decoder interface {
	// each calls visit for each row of the chunk. It returns the first error.
	each(c recordio.Chunk, visit func() error) error
	// lacks reports whether the row lacks a value without which it is left out.
	lacks() bool
	// encode writes the row's features, whose elements are 0, and returns the number of unknown
	// categories and features.
	encode(features []float64) (unknown int, err error)
	// kept returns the text of a column in NewRows.Keep, which is valid until the next call.
	kept(column int) []byte
}

// inOrder passes chunks through workers and emits their blocks in order. columns are the names of
// the blocks' columns.
func (n *NewRows) inOrder(name string, columns []string, next func(buffer []byte) (recordio.Chunk, error), width int, newDecoder func() decoder) error {
	rows := 0
	failed := func(err error) error { // no more rows are needed: end a read that waits for them
		if err != nil {
			n.pausing.Stop()
		}
		return err
	}
	err := recordio.InOrder(next, func() func(recordio.Chunk, *Block) error {
		w := &worker{results: n.newResults(width), rows: newDecoder(), texts: copies{}}
		return func(c recordio.Chunk, b *Block) error {
			b.OpenEnd = n.pausing != nil && c.OpenEnd()
			return failed(w.do(c, b))
		}
	}, func(b *Block) error {
		b.First, b.Columns = rows, columns
		if rows += b.Rows + b.LeftOut; b.Rows+b.LeftOut == 0 {
			return nil
		}
		return failed(n.Emit(b))
	})
	if err == nil && rows == 0 {
		err = &dataerr.FileError{Path: name, Offset: -1, Err: dataerr.ErrNoRows}
	}
	return err
}

// worker prepares the rows of chunks.
type worker struct {
	*results
	rows  decoder
	texts copies // of the kept texts
}

// copies holds one copy of each of the last different texts. Columns such as labels have few.
type copies map[string]string

// mostCopies bounds copies: a column of identifiers has as many texts as rows.
const mostCopies = 1 << 12

// of returns the text as a string.
func (c copies) copy(text []byte) string {
	own, ok := c[string(text)]
	if !ok {
		if len(c) == mostCopies {
			clear(c)
		}
		own = string(text)
		c[own] = own
	}
	return own
}

// do fills the block with the rows of the chunk up to the first error, and returns the error.
func (w *worker) do(c recordio.Chunk, b *Block) error {
	w.begin(b)
	err := w.rows.each(c, func() error {
		if w.file.Required != nil {
			if w.rows.lacks() {
				b.LeftOut++
				return nil
			}
			b.Source = append(b.Source, len(b.Source)+b.LeftOut)
		}
		unknown, err := w.rows.encode(w.row())
		if err != nil {
			return err
		}
		b.Unknown += unknown
		for k := range b.Kept {
			b.Kept[k] = append(b.Kept[k], w.texts.copy(w.rows.kept(k)))
		}
		return w.add()
	})
	if err != nil {
		return w.fail(err)
	}
	return w.flush()
}

// textRows are rows of separated fields, or of a binary format.
type textRows struct {
	records recordio.RecordReader
	encoder *rowEncoder
	keep    []int // index of each kept column in a record
	// required are the indices of the columns without whose values a row is left out
	required []int
}

// each implements decoder.
func (t *textRows) each(c recordio.Chunk, visit func() error) error { return t.records.Each(c, visit) }

// lacks implements decoder.
func (t *textRows) lacks() bool {
	return slices.ContainsFunc(t.required, func(field int) bool { return t.encoder.lacks(t.records, field) })
}

// encode implements decoder.
func (t *textRows) encode(features []float64) (unknown int, err error) {
	t.encoder.unknown = 0
	field, err := t.encoder.encode(t.records, features)
	if err != nil {
		err = t.records.Fail(field, err)
	}
	return t.encoder.unknown, err
}

// kept implements decoder.
func (t *textRows) kept(column int) []byte { return t.records.Text(t.keep[column]) }

// results passes the rows of a block to Work, several at a time.
type results struct {
	file     *NewRows
	width    int
	features []float64 // buffer of rows before Work
	rows     int       // number of rows in the buffer
	block    *Block
}

// newResults returns a buffer for rows of the given width.
func (n *NewRows) newResults(width int) *results {
	return &results{file: n, width: width, features: make([]float64, max(1, featureBytes/8/width)*width)}
}

// begin starts a block.
func (r *results) begin(b *Block) {
	r.block, r.rows = b, 0
	b.Rows, b.LeftOut, b.Source, b.Unknown, b.Results = 0, 0, b.Source[:0], 0, b.Results[:0]
	if b.Kept == nil {
		b.Kept = make([][]string, len(r.file.Keep))
	}
	for k := range b.Kept {
		b.Kept[k] = b.Kept[k][:0]
	}
}

// row returns the features of the next row, all 0.
func (r *results) row() []float64 { return r.features[r.rows*r.width:][:r.width] }

// add adds the row to the block.
func (r *results) add() error {
	r.rows++
	if (r.rows+1)*r.width > len(r.features) {
		return r.flush()
	}
	return nil
}

// flush passes the rows in the buffer to Work.
func (r *results) flush() error {
	if r.rows == 0 {
		return nil
	}
	rows := r.rows
	r.rows = 0
	used := r.features[:rows*r.width]
	out, err := r.file.Work(used, r.block.Results)
	if err != nil {
		return err
	}
	r.block.Results = out
	r.block.Rows += rows
	clear(used)
	return nil
}

// fail passes the complete rows to Work and then returns err, or the error of Work. Nobody reads a
// block after one with an error, so the buffer may keep features of the row with the error.
func (r *results) fail(err error) error {
	if first := r.flush(); first != nil {
		return first
	}
	for k := range r.block.Kept {
		r.block.Kept[k] = r.block.Kept[k][:r.block.Rows]
	}
	return err
}
