package datasets

import (
	"errors"
	"fmt"
	"io"
)

// The smallest and the largest number of dimensions of pictures in the IDX format: rows and pixels,
// or rows, (channels,) height and width.
const leastIDXDims, mostIDXDims = 2, 4

// readPictures reads an IDX file of bytes.
func (n *NewRows) readPictures(r io.Reader, name string) error {
	if len(n.Keep) > 0 {
		return fmt.Errorf("datasets: %w: pictures have no columns", ErrColumn)
	}
	c, err := newContent(r, name)
	if err != nil {
		return err
	}
	magic, err := c.readExactly(4, "the magic number")
	if err != nil {
		return err
	}
	if dims := magic[3]; magic[0] != 0 || magic[1] != 0 || magic[2] != idxBytes || dims < leastIDXDims || dims > mostIDXDims {
		return &FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: magic number % x, IDX pixels start with 00 00 %02x and %d to %d",
			ErrFormat, magic, idxBytes, leastIDXDims, mostIDXDims)}
	}
	dims, total, err := c.readIDXSizes(int(magic[3]))
	if err != nil {
		return err
	}
	if pixels := total / uint64(dims[0]); pixels != uint64(n.Pixels) {
		return &FileError{Path: name, Offset: 8, Err: fmt.Errorf("%w: pictures of %v, %d pixels; the model takes %d", ErrFormat, dims[1:], pixels, n.Pixels)}
	}
	pixels := &whole{content: c, what: "pixels", want: total}
	size := max(1, chunkBytes/n.Pixels) * n.Pixels
	var rest []byte // of a picture that has not arrived in full
	next := func(buffer []byte) (chunk, error) {
		if cap(buffer) < size {
			buffer = make([]byte, size)
		}
		got, err := copy(buffer[:size], rest), error(nil)
		for err == nil && got < size {
			if n.pausing != nil {
				n.pausing.ahead = got >= n.Pixels
			}
			var more int
			more, err = pixels.Read(buffer[got:size])
			got += more
		}
		if errors.Is(err, errPaused) || err == io.EOF && got > 0 {
			err = nil
		}
		whole := got / n.Pixels * n.Pixels
		rest = append(rest[:0], buffer[whole:got]...)
		return chunk{text: buffer[:whole]}, err
	}
	return n.inOrder(name, nil, next, func() worker { return &pictureWorker{n.newResults(n.Pixels)} })
}

// pictureWorker prepares pictures.
type pictureWorker struct{ *results }

// do implements worker.
func (w *pictureWorker) do(c chunk, b *Block) error {
	w.begin(b)
	for text := c.text; len(text) > 0; text = text[w.width:] {
		row := w.row()
		for j, u := range text[:w.width] {
			row[j] = float64(u) * w.of.Scale
		}
		if err := w.add(); err != nil {
			return err
		}
	}
	return w.flush()
}

// ReadIDXLabels reads the labels of pictures, plain or gzip.
func ReadIDXLabels(r io.Reader, name string) ([]byte, error) {
	_, labels, err := readIDX(r, name, "labels", 1)
	return labels, err
}
