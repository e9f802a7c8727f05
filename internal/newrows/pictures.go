package newrows

import (
	"errors"
	"fmt"
	"io"

	"ppal/datasets/dataerr"
	"ppal/datasets/picture"
	"ppal/internal/recordio"
)

// The smallest and the largest number of dimensions of pictures in the IDX format: rows and pixels,
// or rows, (channels,) height and width.
const leastIDXDims, mostIDXDims = 2, 4

// readPictures reads an IDX file of bytes.
func (n *NewRows) readPictures(r io.Reader, name string) error {
	if len(n.Keep) > 0 {
		return fmt.Errorf("datasets: %w: pictures have no columns", dataerr.ErrColumn)
	}
	c, err := recordio.NewContent(r, name)
	if err != nil {
		return err
	}
	magic, err := c.ReadExactly(4, "the magic number")
	if err != nil {
		return err
	}
	if dims := magic[3]; magic[0] != 0 || magic[1] != 0 || magic[2] != recordio.IDXBytes || dims < leastIDXDims || dims > mostIDXDims {
		return &dataerr.FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: magic number % x, IDX pixels start with 00 00 %02x and %d to %d",
			dataerr.ErrFormat, magic, recordio.IDXBytes, leastIDXDims, mostIDXDims)}
	}
	dims, total, err := recordio.ReadIDXSizes(c, int(magic[3]))
	if err != nil {
		return err
	}
	if pixels := total / uint64(dims[0]); pixels != uint64(n.Pixels) {
		return &dataerr.FileError{Path: name, Offset: 8, Err: fmt.Errorf("%w: pictures of %v, %d pixels; the model takes %d", dataerr.ErrFormat, dims[1:], pixels, n.Pixels)}
	}
	pixels := &recordio.Whole{Content: c, What: "pixels", Want: total}
	size := max(1, recordio.ChunkBytes/n.Pixels) * n.Pixels
	var rest []byte // of a picture that has not arrived in full
	next := func(buffer []byte) (recordio.Chunk, error) {
		if cap(buffer) < size {
			buffer = make([]byte, size)
		}
		got, err := copy(buffer[:size], rest), error(nil)
		for err == nil && got < size {
			if n.pausing != nil {
				n.pausing.Ahead = got >= n.Pixels
			}
			var more int
			more, err = pixels.Read(buffer[got:size])
			got += more
		}
		if errors.Is(err, recordio.ErrPaused) || err == io.EOF && got > 0 {
			err = nil
		}
		whole := got / n.Pixels * n.Pixels
		rest = append(rest[:0], buffer[whole:got]...)
		return recordio.Chunk{Text: buffer[:whole]}, err
	}
	return n.inOrder(name, nil, next, n.Pixels, func() decoder { return &pictureRows{scale: n.Scale, pixels: n.Pixels} })
}

// pixels reads the pictures that a table names. The methods of a nil *pixels do nothing.
type pixels struct {
	*picture.Reader
	table string // the path of the table
	idx   bool   // the table is a file in the IDX format
	field int    // the field of the pictures' paths
	scale float64
}

// newPixelRows returns the pictures of a table; nil if the features are columns.
func (n *NewRows) newPixelRows(text *recordio.Delimited, name string) (*pixels, error) {
	e := n.Preparation.Pictures
	if e == nil {
		return nil, nil
	}
	p := &pixels{Reader: picture.NewReader(*e), table: name, scale: n.Scale}
	column := e.Column
	if file := text.Pictures(); file != nil {
		p.idx, column = true, recordio.FolderPicture
		p.Use(name, file)
	}
	places := recordio.HeaderPlaces{Header: text.Header, Repeated: n.Preparation.Repeated}
	var err error
	p.field, err = places.Column(column)
	return p, err
}

// close closes the files of the pictures.
func (p *pixels) close() {
	if p != nil {
		p.Close()
	}
}

// pixelRows are rows of a table that names pictures.
type pixelRows struct {
	*textRows
	pixels  *pixels
	picture []uint8 // the last picture
}

// encode implements decoder.
func (p *pixelRows) encode(features []float64) (unknown int, err error) {
	file, err := picture.At(p.pixels.table, p.pixels.idx, string(p.records.Text(p.pixels.field)))
	if err == nil {
		err = p.pixels.Read(file, p.picture)
	}
	if err != nil && (p.pixels.idx || recordio.IsFolder(p.pixels.table)) { // it names the file
		return 0, err
	}
	if err != nil {
		return 0, p.records.Fail(p.pixels.field, picture.Named(err))
	}
	for j, u := range p.picture {
		features[j] = float64(u) * p.pixels.scale
	}
	return 0, nil
}

// pictureRows are pictures.
type pictureRows struct {
	scale   float64
	pixels  int
	picture []byte // the last picture
}

// each implements decoder.
func (p *pictureRows) each(c recordio.Chunk, visit func() error) error {
	for text := c.Text; len(text) > 0; text = text[p.pixels:] {
		p.picture = text[:p.pixels]
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}

// lacks implements decoder.
func (p *pictureRows) lacks() bool { return false }

// encode implements decoder.
func (p *pictureRows) encode(features []float64) (unknown int, err error) {
	for j, u := range p.picture {
		features[j] = float64(u) * p.scale
	}
	return 0, nil
}

// kept implements decoder: pictures have no columns.
func (p *pictureRows) kept(int) []byte { return nil }

// ReadIDXLabels reads the labels of pictures, plain or gzip.
func ReadIDXLabels(r io.Reader, name string) ([]byte, error) {
	_, labels, err := recordio.ReadIDX(r, name, "labels", 1)
	return labels, err
}
