package recordio

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"ppal/datasets/dataerr"
)

// BinaryFormat is a format of files that hold the columns of a table by name, such as Parquet.
type BinaryFormat struct {
	Magic string // the first bytes of a file
	// Is reports whether a file that begins with head has the format; nil: the magic bytes decide
	Is func(head []byte) bool
	// Open opens a file of size bytes. name is used in errors.
	Open func(file RandomAccess, size int64, name string) (BinaryTable, error)
}

// BinaryTable is an open file of a binary format.
type BinaryTable interface {
	// ColumnNames returns the names of the columns.
	ColumnNames() ([]string, error)
	// Next returns the next rows, as Chunker.Next does.
	Next(buffer []byte) (Chunk, error)
	// Records returns a reader of the rows of chunks.
	Records() RecordReader
	// Single reports whether a column holds numbers of 32 bits.
	Single(field int) bool
}

// ArrayTable is a binary table of arrays, which can be read from any row. The Rows of its chunks
// are a RowRange.
type ArrayTable interface {
	BinaryTable
	// Rows returns the number of rows.
	Rows() int
	// Take makes the rows with the given numbers, from 0, the rows of the table, in that order.
	Take(rows []int)
	// Blocks returns the columns of the arrays of two dimensions or more.
	Blocks() []Block
	// Auxiliary reports whether a column is no feature unless the user says so.
	Auxiliary(field int) bool
	// Arrays returns the arrays of two dimensions or more.
	Arrays() []Array
}

// Array is an array of two dimensions or more, as columns of a table.
type Array struct {
	Name           string
	First, Columns int // fields of a record
}

// RowRange is a range of rows, from 0.
type RowRange struct{ From, To int }

// RowChunks has the rows of an array table: the rows of the file, or those that Take has chosen.
type RowChunks struct {
	File   RandomAccess
	Count  int   // number of rows of the file
	AtOnce int   // number of rows of a chunk
	Chosen []int // numbers of the chosen rows in the file; nil: all rows
	next   int   // first row of the next chunk
}

// Rows implements ArrayTable.
func (r *RowChunks) Rows() int {
	if r.Chosen != nil {
		return len(r.Chosen)
	}
	return r.Count
}

// Take implements ArrayTable.
func (r *RowChunks) Take(rows []int) { r.Chosen = rows }

// Row returns the number of row i in the file.
func (r *RowChunks) Row(i int) int {
	if r.Chosen != nil {
		return r.Chosen[i]
	}
	return i
}

// Next implements BinaryTable. Next reads no rows: the workers read the rows of their chunks.
func (r *RowChunks) Next([]byte) (Chunk, error) {
	from := r.next
	if from == r.Rows() {
		if changed := ChangedSince(r.File); changed != nil {
			return Chunk{}, changed
		}
		return Chunk{}, io.EOF
	}
	r.next = min(r.Rows(), from+r.AtOnce)
	return Chunk{Rows: RowRange{from, r.next}, Record: from}, nil
}

// Runs divides entries [from, to) of a list of rows into runs that are consecutive in the file, and
// calls do for each run of rows. at is the position of the run among the entries. chosen nil: all
// rows.
func Runs(chosen []int, from, to int, do func(at, from, to int) error) error {
	if chosen == nil {
		return do(0, from, to)
	}
	for i := from; i < to; {
		end := i + 1
		for end < to && chosen[end] == chosen[i]+end-i {
			end++
		}
		if err := do(i-from, chosen[i], chosen[i]+end-i); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// Block is a run of neighbouring columns of a table whose numbers lie together in the file. Its
// functions may be called from several goroutines at the same time.
type Block struct {
	First, Columns int  // fields of a record
	Rows           int  // of the table
	Single         bool // numbers of 32 bits hold the values
	ByColumn       bool // the numbers of a column lie together, so that few rows are slow to read
	// Read32 and Read64 write the numbers of rows [from, to) to dst, row by row.
	Read32 func(dst []float32, from, to int) error
	Read64 func(dst []float64, from, to int) error
	// Fail adds the position of a number of the block to an error.
	Fail func(row, column int, err error) error
	// File is the file that holds all numbers as memory does, from the byte Offset; nil: none does.
	File   *os.File
	Offset int64
}

// columnTable is a BinaryTable that decodes whole columns. Its RecordReaders are ColumnReaders.
type columnTable interface {
	// Spelling returns a number of ColumnReader.Numbers as text.
	Spelling(field int, x float64) string
	// Skip lets Next leave out a field that the file stores as numbers.
	Skip(field int)
	// Keep lets Next keep fields that the file stores as numbers, for Numbers. It returns the memory
	// that they take.
	Keep(fields []int) (bytes uint64)
	// Numbers returns a field of all rows, after Next has returned io.EOF. It is nil if the numbers
	// were not kept, or not all are finite.
	Numbers(field int) []float64
}

// ColumnReader is a RecordReader of a format that stores the numbers of a column together.
type ColumnReader interface {
	// EachField does the work of the function EachField, column by column.
	EachField(c Chunk, fields []int, visit func(i int)) error
	// Numbers returns the field of all rows of the chunk if the file stores a finite number in each
	// of them and float64 holds it, and nil otherwise. The caller may keep the numbers.
	Numbers(c Chunk, field int) []float64
}

// RandomAccess is a file that can be read anywhere.
type RandomAccess interface {
	io.ReaderAt
	io.Seeker
}

// binaryFormats are the IDX format and the formats of RegisterFormat.
var binaryFormats = []BinaryFormat{idxFormat}

// RegisterFormat lets all readers of tables read a binary format. Packages of formats call it when
// the program starts.
func RegisterFormat(f BinaryFormat) { binaryFormats = append(binaryFormats, f) }

// parquetMagic begins a Parquet file. The readers of text name the format, also in a program that
// does not read it.
const parquetMagic = "PAR1"

// OpenBinary opens the table in content, whose first bytes are head. If the file is r itself,
// OpenBinary reads in r. If the content comes from a pipe or from a compressed file, OpenBinary
// keeps the content. The table is nil if the content is in no registered format.
func OpenBinary(r, content io.Reader, head []byte, name string) (BinaryTable, error) {
	at := slices.IndexFunc(binaryFormats, func(f BinaryFormat) bool {
		return bytes.HasPrefix(head, []byte(f.Magic)) && (f.Is == nil || f.Is(head))
	})
	if at < 0 {
		if bytes.HasPrefix(head, []byte(parquetMagic)) {
			return nil, &dataerr.FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: it is a Parquet file, which this program does not read", dataerr.ErrFormat),
				Advice: "import ppal/datasets/parquet in the program, or convert the file to CSV"}
		}
		return nil, nil
	}
	file, ok := plainFile(r, binaryFormats[at].Magic)
	if !ok {
		kept, err := spoolBinary(content)
		if err != nil {
			return nil, FileError(name, err)
		}
		file = kept.Reader()
	}
	size, err := sizeOf(file)
	if err != nil {
		return nil, FileError(name, err)
	}
	return binaryFormats[at].Open(file, size, name)
}

// plainFile returns r as a file that can be read anywhere, if r is one and begins as a file of the
// format.
func plainFile(r io.Reader, magic string) (file RandomAccess, ok bool) {
	if file, ok = r.(RandomAccess); !ok {
		return nil, false
	}
	head := make([]byte, len(magic))
	_, _ = file.ReadAt(head, 0) // after an error, head is not the beginning of the file
	return file, string(head) == magic
}
