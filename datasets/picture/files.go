package picture

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/recordio"
)

// Reader reads pictures from PNG, JPEG and IDX files to pixels of one shape. Several goroutines may
// use it.
type Reader struct {
	encoding tabular.PictureEncoding
	mutex    sync.Mutex
	idx      map[string]Stored // the open IDX files by path
	closers  []io.Closer
}

// NewReader returns a reader.
func NewReader(e tabular.PictureEncoding) *Reader {
	return &Reader{encoding: e, idx: map[string]Stored{}}
}

// Stored is an open file of pictures of one shape, 8 bits a pixel.
type Stored interface {
	// Len returns the number of pictures.
	Len() int
	// Dims returns the shape of a picture; 0: the file has no pictures.
	Dims() (channels, height, width int)
	// Pixels reads the picture with the given number, from 0, into dst, channel by channel.
	Pixels(number int, dst []byte) error
}

// Use lets the reader read the pictures of the file with the given path in an open file.
func (r *Reader) Use(path string, file Stored) { r.idx[path] = file }

// Close closes the files that the reader has opened.
func (r *Reader) Close() {
	for _, c := range r.closers {
		c.Close()
	}
}

// idxFile returns the IDX file with the given path.
func (r *Reader) idxFile(path string) (Stored, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if known := r.idx[path]; known != nil {
		return known, nil
	}
	table, closer, ok, err := recordio.OpenIDX(path)
	if err != nil {
		return nil, err
	}
	height := 0
	if ok {
		_, height, _ = table.Dims()
	}
	if height == 0 {
		return nil, &dataerr.FileError{Path: path, Offset: 0, Err: fmt.Errorf("%w: want pictures in the IDX format", dataerr.ErrFormat)}
	}
	r.idx[path], r.closers = table, append(r.closers, closer)
	return table, nil
}

// Read reads the pixels of a picture into dst, plane by plane. Its errors are *FileError.
func (r *Reader) Read(f tabular.PictureFile, dst []uint8) error {
	if f.Row >= 0 {
		table, err := r.idxFile(f.Path)
		if err != nil {
			return err
		}
		return r.readIDX(table, f, dst)
	}
	content, err := contentOf(f.Path)
	if err == nil {
		err = r.decode(content, dst)
	}
	return inFile(f.Path, err)
}

// inFile adds the path of a file to an error; nil for nil.
func inFile(path string, err error) error {
	if err == nil {
		return nil
	}
	return recordio.FileError(path, err)
}

// mostBytes is the largest size of a picture file.
const mostBytes = 1 << 29

// contentOf reads a picture file.
func contentOf(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: it is not a regular file", dataerr.ErrFormat)
	case info.Size() > mostBytes:
		return nil, fmt.Errorf("%w: %d bytes are too many for a picture, want at most %d", dataerr.ErrFormat, info.Size(), mostBytes)
	}
	return os.ReadFile(path)
}

// decode decodes the content of a PNG or JPEG file.
func (r *Reader) decode(content []byte, dst []uint8) error {
	h, err := readHeader(content)
	if err != nil {
		return err
	}
	height, width := h.upright()
	if err := r.fits(height, width); err != nil {
		return err
	}
	planes, err := h.pixels(content, r.encoding.Channels)
	if err != nil {
		return err
	}
	r.store(dst, h.turned(planes), height, width)
	return nil
}

// fits returns an error for a picture of another size, unless pictures are resized.
func (r *Reader) fits(height, width int) error {
	e := &r.encoding
	if e.Resize || height == e.Height && width == e.Width {
		return nil
	}
	return fmt.Errorf("%w: %d x %d pixels, and the training had %d x %d; train with --size to resize pictures", dataerr.ErrFormat, height, width, e.Height, e.Width)
}

// store writes the resized planes to dst.
func (r *Reader) store(dst []uint8, planes [][]uint8, height, width int) {
	e := &r.encoding
	for c, plane := range planes {
		resize(dst[c*e.Height*e.Width:(c+1)*e.Height*e.Width], e.Height, e.Width, plane, height, width)
	}
}

// readIDX reads a picture of an IDX file.
func (r *Reader) readIDX(table Stored, f tabular.PictureFile, dst []uint8) error {
	channels, height, width := table.Dims()
	if f.Row >= table.Len() {
		return inFile(f.Path, fmt.Errorf("%w: picture %d of %d", dataerr.ErrMismatch, f.Row, table.Len()))
	}
	if err := r.fits(height, width); err != nil {
		return inFile(f.Path, err)
	}
	size := height * width
	stored := make([]uint8, channels*size)
	if err := table.Pixels(f.Row, stored); err != nil {
		return err
	}
	planes := make([][]uint8, r.encoding.Channels)
	for c := range planes {
		planes[c] = stored[:size]
		if channels == 3 {
			planes[c] = stored[c*size : (c+1)*size]
		}
	}
	if channels == 3 && len(planes) == 1 {
		for i := range size {
			stored[i] = luma(stored[i], stored[size+i], stored[2*size+i])
		}
	}
	r.store(dst, planes, height, width)
	return nil
}

// ReadSet reads the pixels of all pictures of the set, in their order. The error
// names the first bad picture.
func (r *Reader) ReadSet(ctx context.Context, s *tabular.PictureSet, pixels []uint8) error {
	size := r.encoding.Pixels()
	return eachFile(ctx, s, func(i int) error {
		return r.Read(s.Files[i], pixels[i*size:(i+1)*size])
	})
}

// eachFile calls do for all pictures, on several cores, until an error. It returns the error of the
// first bad picture.
func eachFile(ctx context.Context, s *tabular.PictureSet, do func(i int) error) error {
	var first atomic.Int64 // the first bad picture
	first.Store(int64(len(s.Files)))
	var mutex sync.Mutex
	var failed error
	recordio.InParallel(len(s.Files), func(i int) {
		if int64(i) > first.Load() || ctx.Err() != nil {
			return
		}
		err := do(i)
		if err == nil {
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		if int64(i) < first.Load() {
			first.Store(int64(i))
			failed = err
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if failed != nil {
		return s.Fail(int(first.Load()), failed)
	}
	return nil
}

// Inspect reads the contents of all files of the set for their checksum, and the sizes and colours
// in their headers. It completes the encoding: size zero keeps the size of the files, which must be
// equal, and color is one of tabular's choices.
func Inspect(ctx context.Context, s *tabular.PictureSet, size tabular.PictureSize, color string) error {
	type info struct {
		height, width int
		grey          bool
		bytes         int
		sum           [sha256.Size]byte
	}
	list := make([]info, len(s.Files))
	files := NewReader(tabular.PictureEncoding{})
	defer files.Close()
	err := eachFile(ctx, s, func(i int) error {
		f := s.Files[i]
		if f.Row >= 0 {
			table, err := files.idxFile(f.Path)
			if err != nil {
				return err
			}
			channels, height, width := table.Dims()
			content := make([]byte, channels*height*width)
			if f.Row < table.Len() { // Read reports another row
				err = table.Pixels(f.Row, content)
			}
			list[i] = info{height, width, channels == 1, len(content), sha256.Sum256(content)}
			return err
		}
		content, err := contentOf(f.Path)
		if err != nil {
			return inFile(f.Path, err)
		}
		h, err := readHeader(content)
		if err != nil {
			return inFile(f.Path, err)
		}
		list[i] = info{grey: h.grey, bytes: len(content), sum: sha256.Sum256(content)}
		list[i].height, list[i].width = h.upright()
		return nil
	})
	if err != nil {
		return err
	}
	sum, grey := sha256.New(), color != tabular.ColorRGB
	for i, own := range list {
		sum.Write(own.sum[:])
		s.Bytes += int64(own.bytes)
		grey = grey && (own.grey || color == tabular.ColorGrey)
		if first := list[0]; size == (tabular.PictureSize{}) && (own.height != first.height || own.width != first.width) {
			return s.Fail(i, inFile(s.Files[i].Path, fmt.Errorf("%w: %d x %d pixels, and %s has %d x %d; give the size of all pictures (--size HEIGHTxWIDTH)",
				dataerr.ErrFormat, own.height, own.width, s.Files[0].Path, first.height, first.width)))
		}
	}
	s.SHA256 = hex.EncodeToString(sum.Sum(nil))
	e := s.Encoding
	if e.Height, e.Width, e.Resize = size.Height, size.Width, true; size == (tabular.PictureSize{}) {
		e.Height, e.Width, e.Resize = list[0].height, list[0].width, false
	}
	if e.Channels = 3; grey {
		e.Channels = 1
	}
	if err := e.Check(); err != nil {
		return s.Fail(0, inFile(s.Files[0].Path, err))
	}
	return nil
}

// Named returns an error that has the path of its file in the text, for an error of a picture file
// that a table names.
func Named(err error) error {
	if at, ok := errors.AsType[*dataerr.FileError](err); ok {
		return fmt.Errorf("%s: %w", at.Path, at.Err)
	}
	return err
}

// At returns the picture file that a table names. text is the path, relative to the folder of
// the table, or the number of the picture in the table itself if the table is a file in the IDX
// format.
func At(table string, idx bool, text string) (tabular.PictureFile, error) {
	if idx {
		row, err := strconv.Atoi(text)
		return tabular.PictureFile{Path: table, Row: row}, err
	}
	path := filepath.FromSlash(text)
	if !filepath.IsAbs(path) {
		folder := filepath.Dir(table) // of standard input: the current folder
		if recordio.IsFolder(table) {
			folder = table
		}
		path = filepath.Join(folder, path)
	}
	return tabular.PictureFile{Path: path, Row: -1}, nil
}
