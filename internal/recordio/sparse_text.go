package recordio

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"

	"ppal/datasets/dataerr"
)

// libsvmRow is a row in LIBSVM's format with at least one entry.
var libsvmRow = regexp.MustCompile(`^[-+]?[0-9.]+([eE][-+]?[0-9]+)?([ \t]+qid:[0-9]+)?([ \t]+[0-9]+:[-+0-9.eE]+)+[ \t]*(#.*)?\r?$`)

// firstLine returns the first line of a text that is not empty and not a comment.
func firstLine(head []byte) []byte {
	for line := range bytes.Lines(head) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return line
		}
	}
	return nil
}

// OpenSparse returns the chunks of a text of rows in LIBSVM's format, plain or gzip, without byte
// order marks. A SparseReader decodes them.
func OpenSparse(r io.Reader, name string) (*Chunker, error) {
	text, err := openSparse(r, name)
	if err != nil {
		return nil, err
	}
	c := NewChunker(text, name)
	c.Unquoted = true
	c.Pausing, _ = r.(*Pausing)
	return c, nil
}

// openSparse returns the text of OpenSparse.
func openSparse(r io.Reader, name string) (io.Reader, error) {
	c, err := NewContent(r, name)
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReaderSize(c, SniffBytes)
	head, err := c.Peek(buffered, SniffBytes)
	if err != nil && err != io.EOF {
		return io.MultiReader(bytes.NewReader(head), failing{err}), nil // the parser reports it after the rows before it
	}
	const want = "rows in LIBSVM's format, label index:value ..."
	if err := CheckText(head, name, want); err != nil {
		return nil, err
	}
	for bytes.HasPrefix(head, []byte(ByteOrderMark)) {
		head = head[len(ByteOrderMark):]
		_, _ = buffered.Discard(len(ByteOrderMark)) // Discard cannot fail: Peek has filled the buffer
	}
	form := ""
	switch line := firstLine(head); {
	case bytes.HasPrefix(head, []byte(parquetMagic)):
		form = "a Parquet file"
	case bytes.IndexByte(line, ':') < 0 && bytes.ContainsAny(line, ",;\t|"):
		form = "text of separated fields, such as CSV"
	}
	if form != "" {
		return nil, &dataerr.FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: it looks like %s, want %s", dataerr.ErrFormat, form, want)}
	}
	return buffered, nil
}

// failing is a reader with an error.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }
