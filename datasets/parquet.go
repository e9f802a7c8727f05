package datasets

import (
	"fmt"
	"io"

	"ppal/internal/parquettext"
)

// parquetText is the text of a Parquet file.
type parquetText struct {
	name string // for errors
	file randomAccess
	of   *parquettext.Reader
}

// openParquet returns the text of the Parquet file in content. Its footer is read first. If the
// file is r itself, openParquet reads in r. If the content comes from a pipe or from a compressed
// file, openParquet keeps the content.
func openParquet(r, content io.Reader, name string) (*parquetText, error) {
	file, ok := plainFile(r)
	if !ok {
		kept, err := newSpool(content, spooledInMemory)
		if err != nil {
			return nil, fileError(name, err)
		}
		file = kept.reader()
	}
	p := &parquetText{name: name, file: file}
	var err error
	if p.of, err = parquettext.NewReader(file); err != nil {
		return nil, p.fail(err)
	}
	return p, nil
}

// randomAccess is a file that can be read anywhere.
type randomAccess interface {
	io.ReaderAt
	io.Seeker
}

// plainFile returns r as a file that can be read anywhere, if r is one and begins as a Parquet
// file.
func plainFile(r io.Reader) (file randomAccess, ok bool) {
	if file, ok = r.(randomAccess); !ok {
		return nil, false
	}
	head := make([]byte, len(parquettext.Magic))
	_, _ = file.ReadAt(head, 0) // after an error, head is not the beginning of a Parquet file
	return file, string(head) == parquettext.Magic
}

// Read implements io.Reader.
func (p *parquetText) Read(b []byte) (int, error) {
	n, err := p.of.Read(b)
	if err != nil {
		err = p.fail(err)
	}
	return n, err
}

// fail returns an error of the Parquet file as an error of the file. The end is an error if the
// file has changed.
func (p *parquetText) fail(err error) error {
	if f, ok := p.file.(interface{ unchanged() error }); ok {
		if changed := f.unchanged(); changed != nil {
			return changed
		}
	}
	if err == io.EOF {
		return err
	}
	return &FileError{Path: p.name, Offset: -1, Err: fmt.Errorf("%w: the Parquet file cannot be read: %w", ErrFormat, err)}
}
