package datasets

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// binaryFormat is a format of files that hold the columns of a table by name, such as Parquet.
type binaryFormat struct {
	magic string // the first bytes of a file
	// open opens a file of size bytes. name is used in errors.
	open func(file randomAccess, size int64, name string) (binaryTable, error)
}

// binaryTable is an open file of a binary format.
type binaryTable interface {
	// columnNames returns the names of the columns.
	columnNames() ([]string, error)
	// next returns the next rows, as chunker.next does.
	next(buffer []byte) (chunk, error)
	// records returns a reader of the rows of chunks.
	records() recordReader
	// single reports whether a column holds numbers of 32 bits.
	single(field int) bool
}

// randomAccess is a file that can be read anywhere.
type randomAccess interface {
	io.ReaderAt
	io.Seeker
}

// binaryFormats are the formats of registerFormat.
var binaryFormats []binaryFormat

// registerFormat lets all readers of tables read a binary format. Packages of formats call it when
// the program starts.
func registerFormat(f binaryFormat) { binaryFormats = append(binaryFormats, f) }

// parquetMagic begins a Parquet file. The readers of text name the format, also in a program that
// does not read it.
const parquetMagic = "PAR1"

// openBinary opens the table in content, whose first bytes are head. If the file is r itself,
// openBinary reads in r. If the content comes from a pipe or from a compressed file, openBinary
// keeps the content. The table is nil if the content is in no registered format.
func openBinary(r, content io.Reader, head []byte, name string) (binaryTable, error) {
	at := slices.IndexFunc(binaryFormats, func(f binaryFormat) bool { return bytes.HasPrefix(head, []byte(f.magic)) })
	if at < 0 {
		if bytes.HasPrefix(head, []byte(parquetMagic)) {
			return nil, &FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: it is a Parquet file, which this program does not read", ErrFormat),
				Advice: "import ppal/datasets/parquet in the program, or convert the file to CSV"}
		}
		return nil, nil
	}
	file, ok := plainFile(r, binaryFormats[at].magic)
	if !ok {
		kept, err := newSpool(content, spooledInMemory)
		if err != nil {
			return nil, fileError(name, err)
		}
		file = kept.reader()
	}
	size, err := sizeOf(file)
	if err != nil {
		return nil, fileError(name, err)
	}
	return binaryFormats[at].open(file, size, name)
}

// plainFile returns r as a file that can be read anywhere, if r is one and begins as a file of the
// format.
func plainFile(r io.Reader, magic string) (file randomAccess, ok bool) {
	if file, ok = r.(randomAccess); !ok {
		return nil, false
	}
	head := make([]byte, len(magic))
	_, _ = file.ReadAt(head, 0) // after an error, head is not the beginning of the file
	return file, string(head) == magic
}
