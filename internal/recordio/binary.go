package recordio

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/internal/inputfile"
)

// BinaryFormat is a format of files that hold the columns of a table by name, such as Parquet.
type BinaryFormat struct {
	Magic string // the first bytes of a file
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

// RandomAccess is a file that can be read anywhere.
type RandomAccess interface {
	io.ReaderAt
	io.Seeker
}

// binaryFormats are the formats of RegisterFormat.
var binaryFormats []BinaryFormat

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
	at := slices.IndexFunc(binaryFormats, func(f BinaryFormat) bool { return bytes.HasPrefix(head, []byte(f.Magic)) })
	if at < 0 {
		if bytes.HasPrefix(head, []byte(parquetMagic)) {
			return nil, &dataerr.FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: it is a Parquet file, which this program does not read", dataerr.ErrFormat),
				Advice: "import ppal/datasets/parquet in the program, or convert the file to CSV"}
		}
		return nil, nil
	}
	file, ok := plainFile(r, binaryFormats[at].Magic)
	if !ok {
		kept, err := inputfile.NewSpool(content, inputfile.SpooledInMemory)
		if err != nil {
			return nil, inputfile.FileError(name, err)
		}
		file = kept.Reader()
	}
	size, err := inputfile.SizeOf(file)
	if err != nil {
		return nil, inputfile.FileError(name, err)
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
