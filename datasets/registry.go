package datasets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ppal/datasets/dataerr"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/loader"
)

// Dataset describes one data set of the registry: images, with training and test rows (OpenImages),
// or a table, which is split (LoadTable).
type Dataset struct {
	Name        string // as on the command line
	Description string // one line
	// images: names of the labels 0, 1 ...; tables: names of -1 and +1, empty if the file decides
	Classes  []string
	Features int           // features of one row, as loaded without options; 0 if the file decides
	Shape    picture.Shape // shape of one image; zero for tables
	Sparse   bool          // rows are a CSR
	Own      bool          // the user's own file, named in TableOptions
	Files    []File        // files that Fetch downloads; empty for a built-in set or an own file
	// Relevant is the largest grade of a document that is not relevant, for sets of queries; else nil.
	Relevant *int
	// Page says where the user gets the files, which Fetch cannot download; "": Fetch downloads them
	Page  string
	Folds int // number of folds, each with its own training, validation and test rows; 0: none
	// Filter says which rows of the file the data set has; "": all
	Filter string

	images func(dir string, seed uint64) (train, test *picture.Pictures, err error)                 // nil for tables
	table  func(ctx context.Context, dir string, opts tabular.TableOptions) (*loader.Source, error) // nil for images
	// another form that images accepts (CIFAR-10's folder)
	unpacked []File
}

// Ranks reports whether the rows of the data set are documents of queries.
func (d Dataset) Ranks() bool { return d.Relevant != nil }

// Tabular reports whether the data set is a table; otherwise it has images.
func (d Dataset) Tabular() bool { return d.table != nil }

// File is one published file.
type File struct {
	Path   string   // relative to the data directory, with slashes
	Size   int64    // bytes
	SHA256 string   // hexadecimal; empty if not known
	URLs   []string // where the file is published, tried in this order
	// the file's name in the zip archives at URLs; empty if URLs hold the file itself
	Zipped string
}

// All returns all data sets, in the order of the list.
func All() []Dataset { return slices.Clone(all()) }

// all returns the descriptions, which nothing changes. The flags of a run look at them many times.
var all = sync.OnceValue(func() []Dataset {
	return []Dataset{
		syntheticSet(), fashionMNIST(), cifar10(),
		adult(), bank(), compas(), communities(), mq2008(), mslr(), mslrFiltered(),
		ownCSV(), ownLIBSVM(), userPictures(),
		syntheticAdult(), syntheticBank(), syntheticCompas(), syntheticCommunities(), syntheticMSLR(),
	}
})

// Lookup returns the data set with the given name, or an error that wraps ErrUnknownDataset and
// lists the names.
func Lookup(name string) (Dataset, error) {
	all := all()
	i := slices.IndexFunc(all, func(d Dataset) bool { return d.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.Name
	}
	return Dataset{}, fmt.Errorf("datasets: %w %q; choose one of %s", dataerr.ErrUnknownDataset, name, strings.Join(names, ", "))
}

// OpenImages reads the labels of the training and test rows of the named data set of pictures from
// the data directory dir. The synthetic set needs no directory and is generated from seed; other
// sets ignore seed.
//
// OpenImages returns ErrKind for a table. Errors are *FileError if a file is the cause:
// fs.ErrNotExist, ErrFormat, ErrTruncated, ErrTrailing, ErrLabel. Errors in files of pixels,
// including ErrMismatch, may appear later, when the caller reads the pixels.
func OpenImages(dir, name string, seed uint64) (train, test *picture.Pictures, err error) {
	d, err := Lookup(name)
	if err != nil {
		return nil, nil, err
	}
	if d.Tabular() {
		return nil, nil, fmt.Errorf("datasets: %w: %s is a table, want pictures", dataerr.ErrKind, name)
	}
	if train, test, err = d.images(dir, seed); err != nil {
		return nil, nil, d.advise(err)
	}
	return train, test, nil
}

// LoadImages calls OpenImages and also reads the pixels of all rows.
func LoadImages(dir, name string, seed uint64) (train, test *picture.Images, err error) {
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

// advise adds advice to an error about one of the data set's files.
func (d Dataset) advise(err error) error {
	if len(d.Files) == 0 {
		return err
	}
	if d.Page != "" {
		return dataerr.Advise(err, "get the file by hand from "+d.Page)
	}
	return dataerr.Advise(err, fmt.Sprintf("get it with `ppal data fetch %s`", d.Name))
}
