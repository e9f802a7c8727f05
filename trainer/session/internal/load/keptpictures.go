package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"ppal/datasets"
	"ppal/datasets/picture"
	"ppal/internal/mapped"
	"ppal/internal/relay"
)

// keptPictures keeps the decoded pictures of a set for later runs, in the folder "pictures" of a
// directory. The later runs compare the checksum of the set's files, and decode no picture. A set
// that cannot be kept is decoded in each run.
type keptPictures struct {
	keeper *mapped.Keeper    // nil: the pictures are not kept
	pages  *mapped.Dir       // of the decoded pictures; nil: they are in memory
	note   func(text string) // says to the user where the pictures are kept, or why not
}

// picturesVersion is the version of the kept pictures. Increase it when the same files give other
// pixels.
const picturesVersion = 2

// picturesRoom is the memory for the pages of the decoded pictures in a run without bounded memory.
const picturesRoom = 256 << 20

// keepPictures returns the keeper of the pictures of a set in the directory dir; "": they are not
// kept. files are the files whose sizes and times may not change while they are decoded. key
// completes the name and says how the pictures are decoded, and sum returns the checksum of the
// set. bound is the bound on the resident memory in bytes; 0: none.
func keepPictures(dir, name string, files []string, key any, sum func() (string, error), bound int64, note func(text string)) *keptPictures {
	k := &keptPictures{note: note}
	if dir == "" {
		return k
	}
	if bound == 0 {
		_, own := mapped.MemoryUsage()
		bound = int64(own) + 2*picturesRoom
	}
	folder := filepath.Join(dir, "pictures")
	err := os.MkdirAll(folder, 0o777)
	if err == nil {
		k.pages, err = mapped.New(folder, uint64(bound))
	}
	if err != nil {
		if !errors.Is(err, mapped.ErrUnsupported) {
			k.notKept(err)
		}
		return k
	}
	k.pages.Watch()
	k.keeper = k.pages.NewKeeper(folder, name, files, struct {
		Version int
		Go      string // its packages decode PNG and JPEG files
		Name    string
		Set     any
	}{picturesVersion, runtime.Version(), name, key}, sum)
	if k.keeper != nil {
		k.keeper.Note, k.keeper.Warn = note, note
	}
	return k
}

// notKept says why later runs decode the pictures again.
func (k *keptPictures) notKept(err error) {
	k.note(fmt.Sprintf("The decoded pictures are not kept for later runs: %v.", err))
}

// open returns the arrays that an earlier run has kept; nil: none.
func (k *keptPictures) open() (arrays [][]uint8) {
	var sizes []int
	file := k.keeper.Open(&sizes)
	if file == nil {
		return nil
	}
	arrays = make([][]uint8, len(sizes))
	for i, n := range sizes {
		if err := file.Read(mapped.Of(&arrays[i], n)); err != nil {
			k.keeper.Unusable(err)
			return nil
		}
	}
	return arrays
}

// buffer returns n zeros for decoded pictures, which are in memory if the disk has no space.
func (k *keptPictures) buffer(n int) []uint8 {
	pixels, err := mapped.Make[uint8](k.pages, n)
	if err != nil {
		k.notKept(err)
		k.keeper = nil
		return make([]uint8, n)
	}
	return pixels
}

// keep moves the arrays to a file for later runs.
func (k *keptPictures) keep(arrays [][]uint8) {
	var sizes []int
	var list []mapped.Array
	for i := range arrays {
		sizes, list = append(sizes, len(arrays[i])), append(list, mapped.Of(&arrays[i], len(arrays[i])))
	}
	k.keeper.Write(sizes, list...)
}

// close frees the pictures.
func (k *keptPictures) close() {
	_ = k.pages.Close() // the pixels are in the rows, or there was another error
}

// section opens decoded pixels.
func section(pixels []uint8) picture.Section {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(pixels)), nil }
}

// openImages opens the pictures of a data set. If its files are compressed, the decoded pictures
// are kept for later runs in the user's cache directory. report returns the checksums of the files.
// The caller reads the pictures and then calls close.
func openImages(c Choice, on Request, report func() (*datasets.Report, error), note func(text string)) (train, test *picture.Pictures, close func(), err error) {
	d, err := datasets.Lookup(c.Dataset)
	if err != nil {
		return nil, nil, nil, err
	}
	k, err := keepImages(c, d, on.Memory, report, note)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			k.close()
		}
	}()
	arrays := k.open()
	if arrays == nil {
		train, test, err = datasets.OpenImages(c.Dir, c.Dataset, on.Seed)
		if err != nil || k.keeper == nil {
			return train, test, k.close, err
		}
		if arrays, err = k.decode(train, test); err != nil {
			return nil, nil, nil, err
		}
	}
	opened := func(labels, pixels []uint8) *picture.Pictures {
		return picture.NewPictures(slices.Clone(labels), d.Classes, d.Shape, 0, nil, section(pixels))
	}
	return opened(arrays[0], arrays[1]), opened(arrays[2], arrays[3]), k.close, nil
}

// keepImages returns the keeper of the pictures of a data set. It keeps those of compressed files.
func keepImages(c Choice, d datasets.Dataset, bound int64, report func() (*datasets.Report, error), note func(text string)) (*keptPictures, error) {
	files, err := datasets.Paths(c.Dir, c.Dataset)
	if err != nil || !slices.ContainsFunc(files, func(path string) bool { return filepath.Ext(path) == ".gz" }) {
		return &keptPictures{note: note}, err
	}
	sums := func() (string, error) {
		r, err := report()
		if err != nil {
			return "", err
		}
		var list []string
		for _, f := range r.Files {
			list = append(list, f.SHA256)
		}
		return strings.Join(list, " "), nil
	}
	return keepPictures(cacheDir(), c.Dataset, files, d.Shape, sums, bound, note), nil
}

// decode reads the labels and the pixels of the training pictures and of the test pictures, and
// keeps them.
func (k *keptPictures) decode(train, test *picture.Pictures) ([][]uint8, error) {
	arrays := make([][]uint8, 4)
	for i, p := range []*picture.Pictures{train, test} {
		arrays[2*i] = slices.Clone(p.Labels)
		arrays[2*i+1] = k.buffer(len(p.Labels) * p.Shape.Pixels())
	}
	reading := relay.Go(func() error { return test.ReadAll(arrays[3]) })
	err := errors.Join(train.ReadAll(arrays[1]), reading())
	if err == nil {
		k.keep(arrays)
	}
	return arrays, err
}

// cacheDir returns the directory of ppal in the user's cache directory; "": there is none.
func cacheDir() string {
	dir, err := datasets.Dir("", func(string) string { return "" })
	if err != nil {
		return ""
	}
	return dir
}
