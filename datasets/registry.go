package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// Dataset describes one set of images of the registry.
type Dataset struct {
	Name        string   // as on the command line
	Description string   // one line
	Classes     []string // names of the classes, by number
	Shape       Shape    // of one image
	Files       []File   // what Fetch downloads; none for a built-in set

	load     func(dir string, seed uint64) (train, test *Images, err error)
	unpacked []File // the other form that load accepts (CIFAR-10's folder)
}

// File is one published file.
type File struct {
	Path   string   // relative to the data directory, with slashes
	Size   int64    // bytes
	MD5    string   // hexadecimal; empty where not published
	SHA256 string   // hexadecimal; empty where not known
	URLs   []string // where it is published, tried in this order
}

// All returns every set known, in the order in which to list them.
func All() []Dataset {
	return []Dataset{syntheticSet(), fashionMNIST(), cifar10()}
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

// Load reads the training and test rows of the named set from the data
// directory dir. The synthetic set needs no directory and is drawn from seed;
// the others ignore seed.
//
// Errors are *FileError where a file is at fault: missing (fs.ErrNotExist),
// ErrFormat, ErrTruncated, ErrTrailing, ErrLabel, ErrMismatch.
func Load(dir, name string, seed uint64) (train, test *Images, err error) {
	d, err := Lookup(name)
	if err != nil {
		return nil, nil, err
	}
	train, test, err = d.load(dir, seed)
	if err != nil {
		return nil, nil, advise(err, fmt.Sprintf("get it with `ppal data fetch %s`", name))
	}
	return train, test, nil
}
