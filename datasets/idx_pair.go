package datasets

import (
	"fmt"
	"io"

	"ppal/datasets/dataerr"
	"ppal/datasets/picture"
	"ppal/internal/recordio"
)

// idxPair is an image file and its label file.
type idxPair struct {
	images, labels string
	dataset        Dataset
}

// openIDXPair reads the labels and prepares the image file for reading. Each file may be a gzip
// file, or a decompressed file at the same path without ".gz".
func openIDXPair(imagePath, labelPath string, d Dataset) (*picture.Pictures, error) {
	p := idxPair{images: recordio.OrUnzipped(imagePath), labels: recordio.OrUnzipped(labelPath), dataset: d}
	f, err := recordio.OpenSteady(p.labels)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, labels, err := recordio.ReadIDX(f, p.labels, "labels", 1)
	if err != nil {
		return nil, err
	}
	if err := recordio.CheckLabels(labels, len(d.Classes), p.labels, 8, 1); err != nil {
		return nil, err
	}
	pixels := func() (io.ReadCloser, error) { return p.openPixels(len(labels)) }
	return picture.NewPictures(labels, d.Classes, d.Shape, 0, d.advise, pixels), nil
}

// openPixels opens the image file at its first pixel, after checking its number of rows and its
// shape.
func (p idxPair) openPixels(rows int) (r io.ReadCloser, err error) {
	f, err := recordio.OpenSteady(p.images)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	c, err := recordio.NewContent(f, p.images)
	if err != nil {
		return nil, err
	}
	dims, total, err := recordio.ReadIDXHeader(c, "pixels", 3)
	if err != nil {
		return nil, err
	}
	if dims[0] != rows {
		return nil, &dataerr.FileError{Path: p.images, Offset: 4,
			Err: fmt.Errorf("%w: %d pictures, %d labels in %s", dataerr.ErrMismatch, dims[0], rows, p.labels)}
	}
	if have := (picture.Shape{Height: dims[1], Width: dims[2], Channels: 1}); have != p.dataset.Shape {
		return nil, &dataerr.FileError{Path: p.images, Offset: 8,
			Err: fmt.Errorf("%w: pictures of %v, %s has %v", dataerr.ErrFormat, have, p.dataset.Name, p.dataset.Shape)}
	}
	return &recordio.Whole{Closer: f, Content: c, What: "pixels", Want: total}, nil
}
