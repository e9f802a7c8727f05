// Package load reads the rows of a run: it checks the files, splits and normalises the rows, and
// stores them in the layout of the run's device.
package load

import (
	"context"
	"fmt"
	"iter"
	"math"
	"runtime/debug"
	"slices"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/ranks"
	"ppal/internal/recordio"
	"ppal/internal/relay"
	"ppal/models"
	"ppal/trainer/session/results"
)

// Data are the rows of a run and their description.
type Data struct {
	Dataset       string    // name of the data set; "" for data at hand
	Splits        []*Split  // the training rows first
	Center, Scale []float64 // centre and scale of the columns, which the first layer applies; nil: none
	Normalization models.Normalization
	Description   Description
	Label         *tabular.Label
	Reading       *tabular.Reading
	Pictures      bool               // the rows are 8-bit pictures
	Shape         picture.Shape      // shape of pictures; zero if not known
	KeptNotes     []string           // about decoded pictures that are kept, which differ between equal runs
	files         []tabular.FileRows // files in the order of the row numbers; nil: a single file
}

// Description describes the rows, and the files from which they come.
type Description struct {
	results.Provenance // files, normalisation, notes and warnings
	Preparation        *tabular.Preparation
	FeatureNames       []string
	Columns            []tabular.ColumnUse
}

// Split is a split with its name and rows.
type Split struct {
	Name results.Split
	Rows
}

// Name returns the name of the data set, for messages.
func (l *Data) Name() string {
	if l.Dataset == "" {
		return "data at hand"
	}
	return l.Dataset
}

// verified calls load, and at the same time compares the checksums of the data set's files with the
// published checksums. own has the paths of the user's own files. report waits for the result of
// the comparison.
func verified(ctx context.Context, dir, dataset string, own []string,
	load func(report func() (*datasets.Report, error)) (*Data, error)) (*Data, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	unchanged := recordio.Unchanged(own...)
	report := relay.Start(func() (*datasets.Report, error) { return datasets.Verify(ctx, dir, dataset, own...) })
	l, err := load(report)
	if err != nil {
		return nil, err
	}
	r, err := report()
	if err != nil {
		return nil, err
	}
	if err := unchanged(); err != nil {
		return nil, err
	}
	l.Dataset = dataset
	l.Description.Warnings = append(l.Description.Warnings, r.Warnings...)
	for _, f := range r.Files {
		if f.State == datasets.Missing {
			continue // a file of another fold
		}
		l.Description.Data = append(l.Description.Data, results.DataFile{Name: f.File.Path, Bytes: f.Size, SHA256: f.SHA256, State: f.State.String()})
	}
	if d, err := datasets.Lookup(dataset); err == nil && len(d.Files) > 0 {
		l.Description.DataDir = dir
	}
	return l, nil
}

// builtIn reports whether a seed generates the data set. Such a data set is identified by checksums
// of its rows.
func builtIn(name string) bool {
	d, err := datasets.Lookup(name)
	return err == nil && len(d.Files) == 0 && !d.Own
}

// InSplits yields the arguments that are not nil, each with its split.
func InSplits[T any](train, validation, test *T) iter.Seq2[results.Split, *T] {
	return func(yield func(results.Split, *T) bool) {
		for k, part := range []*T{train, validation, test} {
			if part != nil && !yield(results.Splits()[k], part) {
				return
			}
		}
	}
}

// Fingerprint returns a checksum of the files, of the sizes of the splits, and of their labels and
// groups.
func (l *Data) Fingerprint() float64 {
	var all []byte
	for _, f := range l.Description.Data {
		all = append(all, f.SHA256...)
	}
	for _, s := range l.Splits {
		rows, cols := s.Data.Dims()
		all = fmt.Append(all, s.Name, rows, cols, l.Center, l.Scale)
		sum := uint64(rows)
		mix := func(v int) { sum = (sum ^ uint64(v)) * 0x9e3779b97f4a7c15; sum ^= sum >> 29 }
		for _, y := range s.Labels {
			mix(y)
		}
		for _, w := range s.Weights {
			mix(int(math.Float64bits(w)))
		}
		for _, g := range s.Groups {
			for _, i := range g.Rows {
				mix(i)
			}
		}
		all = fmt.Append(all, sum)
	}
	return ranks.Digest(all)
}

// largeData is the number of elements of the data matrix above which FreeMemory returns memory to
// the system: 64 MiB of float64. For a smaller matrix, a garbage collection takes too much time for
// the memory that it frees.
const largeData = 8 << 20

// FreeMemory runs a garbage collection and returns free memory to the system if the data are large.
func (l *Data) FreeMemory() {
	elements := 0
	for _, s := range l.Splits {
		rows, cols := s.Data.Dims()
		elements += rows * cols
	}
	if elements > largeData {
		debug.FreeOSMemory()
	}
}

// warnBeyond adds a warning if the rows of a published or built-in table, which stay in memory, are
// larger than memory, the value of --memory in bytes; 0: no bound.
func (l *Data) warnBeyond(memory int64) {
	size := 0
	for _, s := range l.Splits {
		rows, cols := s.Data.Dims()
		width := 8
		switch x := s.Data.(type) {
		case matrix.Sparse:
			_, columns, values := x.Entries()
			size += 4*len(columns) + 8*len(values)
			continue
		case matrix.EightBit:
			width = 1
		}
		size += rows * cols * width
	}
	if memory > 0 && int64(size) > memory {
		l.Description.Warnings = append(l.Description.Warnings, fmt.Sprintf("The rows take %d MiB of memory, more than --memory %d MiB: "+
			"ppal keeps the rows of published and built-in tables in memory. Use a larger --memory, or your own CSV file.", size>>20, memory>>20))
	}
}

// The names of the training and test parts of picture sets in rows.csv.
const (
	trainingSet = "train"
	testSet     = "test"
)

// Members returns the row numbers of each split and file. Rows.Source of a table counts the rows of
// all files, and Rows.Source of pictures the rows of the training set or of the test set.
func (l *Data) Members() []results.Members {
	var list []results.Members
	pictures, files := l.Pictures, l.files
	for _, s := range l.Splits {
		if s.Copies > 1 {
			own := *s
			own.Source = slices.Compact(slices.Clone(s.Source))
			s = &own
		}
		switch {
		case s.Source == nil:
			return nil
		case pictures && s.Name == results.Test:
			list = append(list, results.Members{Split: s.Name, File: testSet, Rows: s.Source})
		case pictures:
			list = append(list, results.Members{Split: s.Name, File: trainingSet, Rows: s.Source})
		case len(files) < 2:
			list = append(list, results.Members{Split: s.Name, Rows: s.Source})
		default:
			list = append(list, byFile(s, files)...)
		}
	}
	// order the list by file
	slices.SortStableFunc(list, func(a, b results.Members) int { return place(files, a.File) - place(files, b.File) })
	return list
}

// byFile returns the row numbers of a split by file. The row numbers of the split must increase.
func byFile(s *Split, files []tabular.FileRows) []results.Members {
	var list []results.Members
	first, at := 0, 0
	for _, f := range files {
		n, _ := slices.BinarySearch(s.Source[at:], first+f.Rows)
		m := results.Members{Split: s.Name, File: f.Name, Rows: slices.Clone(s.Source[at : at+n])}
		for k := range m.Rows {
			m.Rows[k] -= first
		}
		list, first, at = append(list, m), first+f.Rows, at+n
	}
	return list
}

// place returns the index of the file with the given name, or -1.
func place(files []tabular.FileRows, name string) int {
	return slices.IndexFunc(files, func(f tabular.FileRows) bool { return f.Name == name })
}
