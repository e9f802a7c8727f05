package datasets

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"ppal/datasets/dataerr"
	"ppal/datasets/picture"
	"ppal/internal/recordio"
)

// cifarShape is the shape of one image: planes of red, green and blue.
var cifarShape = picture.Shape{Height: 32, Width: 32, Channels: 3}

const (
	cifarFolder  = "cifar-10-batches-bin"
	cifarArchive = "cifar-10-binary.tar.gz"
	cifarPixels  = 3072            // bytes of one image
	cifarRecord  = 1 + cifarPixels // one label byte, then the pixels
	cifarRows    = 10000           // images in an official batch
	readBytes    = 1 << 20         // of one read
)

// cifar10 describes CIFAR-10: 50,000 + 10,000 images of ten classes (Krizhevsky, "Learning multiple
// layers of features from tiny images", 2009).
func cifar10() Dataset {
	batch := func(name, sha256 string) File {
		return File{Path: cifarFolder + "/" + name, Size: cifarRows * cifarRecord, SHA256: sha256}
	}
	d := Dataset{
		Name:        "cifar10",
		Description: "colour photographs, 50,000 training and 10,000 test pictures",
		Classes: []string{"airplane", "automobile", "bird", "cat", "deer",
			"dog", "frog", "horse", "ship", "truck"},
		Shape: cifarShape,
		Files: []File{{
			Path:   cifarArchive,
			Size:   170052171,
			SHA256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
			URLs:   []string{"https://www.cs.toronto.edu/~kriz/" + cifarArchive},
		}},
		unpacked: []File{
			batch("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
			batch("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
			batch("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
			batch("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
			batch("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
			batch("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
		},
	}
	d.images = func(dir string, _ uint64) (train, test *picture.Pictures, err error) {
		help := d.advise
		if folder := filepath.Join(dir, cifarFolder); recordio.Exists(folder) {
			help = func(err error) error {
				return dataerr.Advise(err, fmt.Sprintf("remove %s and run `ppal data fetch %s`", folder, d.Name))
			}
		}
		batches, err := cifarBatches(dir, d)
		if err != nil {
			return nil, nil, help(err)
		}
		last := len(batches) - 1
		train, test = joinBatches(batches[:last], d.Classes, help), joinBatches(batches[last:], d.Classes, help)
		return train, test, nil
	}
	return d
}

// cifarBatch is one batch: the labels, and a function that opens the records. A file is read twice,
// first for the labels and then for the pixels. The records of an archive stay in memory, because
// the reader needs all labels before it can place the pixels.
type cifarBatch struct {
	labels []byte
	open   picture.Section
}

// cifarBatches reads the batches from the unpacked folder if the folder exists, otherwise from the
// archive.
func cifarBatches(dir string, d Dataset) ([]cifarBatch, error) {
	folder, archive := filepath.Join(dir, cifarFolder), filepath.Join(dir, cifarArchive)
	if !recordio.Exists(folder) {
		f, err := os.Open(archive)
		if errors.Is(err, os.ErrNotExist) {
			return nil, &dataerr.FileError{Path: archive, Offset: -1,
				Err: fmt.Errorf("%w, nor the folder %s", os.ErrNotExist, cifarFolder)}
		}
		if err != nil {
			return nil, recordio.FileError(archive, err)
		}
		defer f.Close()
		return readCIFARArchive(f, archive, d)
	}
	batches := make([]cifarBatch, len(d.unpacked))
	for i, file := range d.unpacked {
		var err error
		if batches[i], err = readCIFARFile(filepath.Join(dir, filepath.FromSlash(file.Path)), len(d.Classes)); err != nil {
			return nil, err
		}
	}
	return batches, nil
}

// readCIFARFile reads the labels of one unpacked batch.
func readCIFARFile(path string, classes int) (cifarBatch, error) {
	info, err := os.Stat(path)
	if err != nil {
		return cifarBatch{}, recordio.FileError(path, err)
	}
	size := info.Size()
	if err := checkCIFARSize(size, path); err != nil {
		return cifarBatch{}, err
	}
	b := cifarBatch{labels: make([]byte, size/cifarRecord), open: func() (io.ReadCloser, error) { return openCIFARFile(path, size) }}
	records, err := b.open()
	if err != nil {
		return cifarBatch{}, err
	}
	defer records.Close()
	r := bufio.NewReaderSize(records, readBytes)
	for i := range b.labels {
		if b.labels[i], err = r.ReadByte(); err != nil {
			return cifarBatch{}, err
		}
		if _, err := r.Discard(cifarPixels); err != nil {
			return cifarBatch{}, err
		}
	}
	return b, recordio.CheckLabels(b.labels, classes, path, 0, cifarRecord)
}

// openCIFARFile opens a batch and checks its size.
func openCIFARFile(path string, size int64) (io.ReadCloser, error) {
	f, err := recordio.OpenSteady(path)
	if err != nil {
		return nil, err
	}
	return &recordio.Whole{Closer: f, Content: &recordio.Content{Name: path, R: f}, What: "records", Want: uint64(size)}, nil
}

// checkCIFARSize returns an error unless size is a whole number of records and at most the size of
// an official batch. The limit also bounds the memory for a compressed or sparse archive.
func checkCIFARSize(size int64, name string) error {
	rows := size / cifarRecord
	if size <= 0 || size%cifarRecord != 0 {
		return &dataerr.FileError{Path: name, Offset: max(0, rows*cifarRecord),
			Err: fmt.Errorf("%w: %d bytes are not a whole number of records of %d bytes", dataerr.ErrTruncated, size, cifarRecord)}
	}
	if rows > cifarRows {
		return &dataerr.FileError{Path: name, Offset: cifarRows * cifarRecord,
			Err: fmt.Errorf("%w: a batch has at most %d records, this one %d", dataerr.ErrTrailing, cifarRows, rows)}
	}
	return nil
}

// readCIFAR reads size bytes of records. A record is one label byte and the 3072 pixels
// of an image.
func readCIFAR(r io.Reader, name string, size int64, classes int) (cifarBatch, error) {
	if err := checkCIFARSize(size, name); err != nil {
		return cifarBatch{}, err
	}
	c := &recordio.Content{Name: name, R: r}
	records, err := c.ReadExactly(uint64(size), "records")
	if err != nil {
		return cifarBatch{}, err
	}
	labels := make([]byte, size/cifarRecord)
	for i := range labels {
		labels[i] = records[i*cifarRecord]
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(records)), nil }
	return cifarBatch{labels, open}, recordio.CheckLabels(labels, classes, name, 0, cifarRecord)
}

// readCIFARArchive reads the batches from a tar archive, gzip or plain, in any order. It skips
// other members.
func readCIFARArchive(r io.Reader, name string, d Dataset) ([]cifarBatch, error) {
	c, err := recordio.NewContent(r, name)
	if err != nil {
		return nil, err
	}
	batches := make([]cifarBatch, len(d.unpacked))
	archive := tar.NewReader(c)
	for {
		member, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, c.Fail(tarError(err))
		}
		for i, file := range d.unpacked {
			if member.Typeflag != tar.TypeReg || path.Base(member.Name) != path.Base(file.Path) {
				continue
			}
			where := name + ": " + path.Base(file.Path)
			if batches[i].labels != nil {
				return nil, &dataerr.FileError{Path: where, Offset: -1, Err: fmt.Errorf("%w: appears twice in the archive", dataerr.ErrFormat)}
			}
			if batches[i], err = readCIFAR(archive, where, member.Size, len(d.Classes)); err != nil {
				return nil, err
			}
		}
	}
	// The archive's end mark is followed by padding. Reading the padding makes the decompressor
	// verify its checksum.
	if _, err := io.Copy(io.Discard, c); err != nil {
		return nil, c.Fail(err)
	}
	for i, file := range d.unpacked {
		if batches[i].labels == nil {
			return nil, &dataerr.FileError{Path: name, Offset: c.Offset,
				Err: fmt.Errorf("%w: the archive has no %s", dataerr.ErrTruncated, path.Base(file.Path))}
		}
	}
	return batches, nil
}

// tarError maps errors of the archive reader to this package's errors.
func tarError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the archive ends too early", dataerr.ErrTruncated)
	case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong):
		return fmt.Errorf("%w: %w", dataerr.ErrFormat, err)
	}
	return err
}

// joinBatches joins several batches into one data set.
func joinBatches(batches []cifarBatch, classes []string, advise func(error) error) *picture.Pictures {
	var labels []byte
	var sections []picture.Section
	for _, b := range batches {
		labels, sections = append(labels, b.labels...), append(sections, b.open)
	}
	return picture.NewPictures(labels, classes, cifarShape, cifarRecord-cifarPixels, advise, sections...)
}
