package datasets

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"ppal/datasets/matrix"
)

// userLIBSVM reads a user's file in LIBSVM's format. The larger of two labels is class +1. With more
// labels, each label is a class. Reading ends with the error of the context.
func userLIBSVM(ctx context.Context, opts TableOptions) (*source, error) {
	kept, own := &keptSparse{}, (*ownSparse)(nil)
	var file *LIBSVM
	var err error
	if opts.sharesSparse() {
		file, own, err = opts.readShared(ctx)
	}
	if err == nil && file == nil {
		file, kept, err = opts.readSparse(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := checkWidth(opts.File, file.X); err != nil {
		return nil, err
	}
	s := &source{notes: kept.notes, warnings: kept.warnings}
	if err := s.setClasses(opts.File, file.Labels, opts.Classes); err != nil {
		return nil, err
	}
	return s, s.sparse(file.X, &sparseDesign{shift: opts.shift()}, opts, own)
}

// maxOwnFeatures is the largest number of features of a user's file. It equals the largest number
// of parameters of a model, because a linear model has one parameter for each feature.
const maxOwnFeatures = 1 << 25

// checkWidth returns an error for a matrix with too many features, at the line of the last feature.
func checkWidth(path string, x *matrix.CSR) error {
	if x.Cols <= maxOwnFeatures {
		return nil
	}
	at := slices.Index(x.Columns, int32(x.Cols-1))
	following, _ := slices.BinarySearch(x.Starts, at+1) // the first row that begins after the entry
	return &FileError{Path: path, Offset: -1, Line: libsvmLine(path, following-1),
		Err: fmt.Errorf("%w: a feature has the index %d, the limit is %d", ErrIndex, x.Cols, maxOwnFeatures)}
}

// setClasses sets the labels of a file's rows: -1 and +1 for two values, the larger value +1, and
// one class for each of more values, in their order. names are the classes that the user chose;
// nil: all values.
func (s *source) setClasses(path string, values []float64, names []string) error {
	seen := map[float64]int{} // the index in distinct
	for _, v := range values {
		seen[v] = 0
	}
	distinct := slices.Sorted(maps.Keys(seen))
	for k, v := range distinct {
		seen[v] = k
	}
	fail := func(err error) error { return &FileError{Path: path, Offset: -1, Err: err} }
	if len(distinct) == 1 {
		return fail(fmt.Errorf("%w: all are %v, want at least two values", ErrLabel, distinct[0]))
	}
	if len(distinct) > mostClasses {
		return fail(fmt.Errorf("%w: it has %d values (%v, %v, ...), want at most %d classes", ErrLabel, len(distinct), distinct[0], distinct[1], mostClasses))
	}
	var texts []string
	for _, v := range distinct {
		texts = append(texts, formatNumber(v))
	}
	if names == nil && len(texts) == 2 {
		s.label = Label{Positive: texts[1], Negative: texts[:1]}
		s.classes = []string{fmt.Sprintf("label %v", distinct[0]), fmt.Sprintf("label %v", distinct[1])}
		s.setLabels(values, func(v float64) int { return labelOf(seen[v], 2) })
		return nil
	}
	s.classes = texts
	if names != nil {
		var err error
		if s.classes, err = chosenClasses(texts, names); err != nil {
			return fail(err)
		}
	}
	s.label.Several = s.classes
	for _, text := range texts {
		if !slices.Contains(s.classes, text) {
			s.label.Others = append(s.label.Others, text)
		}
	}
	of := make([]int, len(texts)) // label of each distinct value
	for k, text := range texts {
		of[k] = outside
		if class := slices.Index(s.classes, text); class >= 0 {
			of[k] = labelOf(class, len(s.classes))
		}
	}
	s.setLabels(values, func(v float64) int { return of[seen[v]] })
	return nil
}

// setLabels sets the label of each row from its value.
func (s *source) setLabels(values []float64, of func(v float64) int) {
	s.labels = make([]int, len(values))
	for i, v := range values {
		s.labels[i] = of(v)
	}
}

// libsvmLine returns the line number of a row in the file, or 0 if it does not find the row.
func libsvmLine(path string, row int) int {
	f, err := openInput(context.Background(), path)
	if err != nil {
		return 0
	}
	defer f.Close()
	content, err := openLIBSVM(f, path)
	if err != nil {
		return 0
	}
	lines := lineReader{r: bufio.NewReader(content), most: maxLine}
	for {
		line, err := lines.next()
		if err != nil {
			return 0
		}
		text, _, _ := bytes.Cut(line, []byte("#"))
		if field, _ := nextField(text); len(field) == 0 {
			continue
		}
		if row == 0 {
			return lines.number
		}
		row--
	}
}
