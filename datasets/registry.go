package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// Dataset describes one set of the registry: images, which come as training and
// test rows (OpenImages), or a table, which is split (LoadTable).
type Dataset struct {
	Name        string   // as on the command line
	Description string   // one line
	Classes     []string // images: names of the labels 0, 1 ...; tables: of -1 and +1, none where the file decides
	Features    int      // of one row, as loaded without options; 0 where the file decides
	Shape       Shape    // of one image; zero for tables
	Sparse      bool     // rows come as a CSR
	Own         bool     // the user's own file, named in TableOptions
	Files       []File   // what Fetch downloads; none for a built-in set or an own file

	images   func(dir string, seed uint64) (train, test *Pictures, err error) // nil for tables
	table    func(dir string, opts TableOptions) (*source, error)             // nil for images
	unpacked []File                                                           // the other form that images accepts (CIFAR-10's folder)
}

// Tabular says whether the set is a table; others are images.
func (d Dataset) Tabular() bool { return d.table != nil }

// File is one published file.
type File struct {
	Path   string   // relative to the data directory, with slashes
	Size   int64    // bytes
	MD5    string   // hexadecimal; empty where not published
	SHA256 string   // hexadecimal; empty where not known
	URLs   []string // where it is published, tried in this order
	Zipped string   // the member that it is of the zip archives at URLs; empty where they are the file itself
}

// All returns every set known, in the order in which to list them.
func All() []Dataset {
	return []Dataset{
		syntheticSet(), fashionMNIST(), cifar10(),
		adult(), bank(), compas(), communities(),
		ownCSV(), ownLIBSVM(),
		syntheticAdult(), syntheticBank(), syntheticCompas(), syntheticCommunities(),
	}
}

// Lookup returns the set of that name, or an error that wraps
// ErrUnknownDataset and lists the names there are.
func Lookup(name string) (Dataset, error) {
	all := All()
	i := slices.IndexFunc(all, func(d Dataset) bool { return d.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.Name
	}
	return Dataset{}, fmt.Errorf("datasets: %w %q; choose one of %s", ErrUnknownDataset, name, strings.Join(names, ", "))
}

// OpenImages reads the labels of the training and test rows of the named set
// of images from the data directory dir. The synthetic set needs no directory
// and is drawn from seed; the others ignore seed.
//
// A table is ErrKind. Errors are *FileError where a file is at fault: missing
// (fs.ErrNotExist), ErrFormat, ErrTruncated, ErrTrailing, ErrLabel. Those about
// files of pixels, ErrMismatch with them, may come when the pixels are read.
func OpenImages(dir, name string, seed uint64) (train, test *Pictures, err error) {
	d, err := Lookup(name)
	if err != nil {
		return nil, nil, err
	}
	if d.Tabular() {
		return nil, nil, fmt.Errorf("datasets: %w: %s is a table, want images", ErrKind, name)
	}
	if train, test, err = d.images(dir, seed); err != nil {
		return nil, nil, d.advise(err)
	}
	return train, test, nil
}

// LoadImages is OpenImages and reads the pixels too, of all rows.
func LoadImages(dir, name string, seed uint64) (train, test *Images, err error) {
	ofTrain, ofTest, err := OpenImages(dir, name, seed)
	if err != nil {
		return nil, nil, err
	}
	if train, err = ofTrain.Images(); err != nil {
		return nil, nil, err
	}
	test, err = ofTest.Images()
	return train, test, err
}

// advise puts what to do to an error about one of the set's files.
func (d Dataset) advise(err error) error {
	if len(d.Files) == 0 {
		return err
	}
	return advise(err, fmt.Sprintf("get it with `ppal data fetch %s`", d.Name))
}
