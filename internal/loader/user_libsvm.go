package loader

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/textvalue"
	"ppal/internal/vec"
)

// UserLIBSVM reads a user's file in LIBSVM's format. The larger of two labels is class +1. With
// more labels, each label is a class. Reading ends with the error of the context.
func UserLIBSVM(ctx context.Context, opts tabular.TableOptions) (*Source, error) {
	s := &Source{}
	var file *LIBSVM
	var own *localSparse
	var err error
	if sharesSparse(&opts) && opts.Query == "" {
		file, own, err = readShared(ctx, &opts)
	}
	if err == nil && file == nil {
		file, s.Notes, s.Warnings, err = readSparse(ctx, &opts)
	}
	if err != nil {
		return nil, err
	}
	var x entries = file.Singles
	if file.Singles == nil {
		x = file.X
		if err := CheckWidth(opts.File, file.X); err != nil {
			return nil, err
		}
	}
	if err := s.setGrades(opts.File, file, &opts); err != nil {
		return nil, err
	}
	return s, s.Sparse(x, &SparseDesign{Shift: shiftOf(&opts)}, opts, own)
}

// setGrades sets the labels of a file's rows, and the queries if the options name them.
func (s *Source) setGrades(path string, file *LIBSVM, opts *tabular.TableOptions) error {
	if opts.Query == "" {
		if file.Queries != nil {
			s.Notes = append(s.Notes, "The rows have a qid, which ppal does not use. --query qid keeps the rows of a query together in the splits.")
		}
		return s.SetClasses(path, file.Labels, opts.Classes)
	}
	if file.Queries == nil {
		return &dataerr.FileError{Path: path, Offset: -1, Line: LibsvmLine(path, 0), Err: fmt.Errorf("%w: the row has no qid", dataerr.ErrFormat),
			Advice: "leave out --query, or write qid:N after the label of each row"}
	}
	s.queries = file.Queries
	s.queries.Column = tabular.QueryID
	s.queries.Grades = make([]uint8, len(file.Labels))
	for i, x := range file.Labels {
		var err error
		if s.queries.Grades[i], err = tabular.Grade(x); err != nil {
			return &dataerr.FileError{Path: path, Offset: -1, Line: LibsvmLine(path, i), Err: err}
		}
	}
	above, each, err := ParseRelevant(cmp.Or(opts.Relevant, tabular.EachGrade))
	if err != nil {
		return fmt.Errorf("datasets: %w: relevant %w", dataerr.ErrOption, err)
	}
	if each {
		return s.SetClasses(path, file.Labels, nil)
	}
	s.Classes, s.Label = relevance("", above)
	s.setLabels(file.Labels, func(x float64) int { return tabular.LabelOf(vec.Indicator(int(x) > above), 2) })
	return nil
}

// MaxUserFeatures is the largest number of features of a user's file. It equals the largest number
// of parameters of a model, because a linear model has one parameter for each feature.
const MaxUserFeatures = 1 << 25

// CheckWidth returns an error for a matrix with too many features, at the line of the last feature.
func CheckWidth(path string, x *matrix.CSR) error {
	if x.Cols <= MaxUserFeatures {
		return nil
	}
	at := slices.Index(x.Columns, int32(x.Cols-1))
	following, _ := slices.BinarySearch(x.Starts, at+1) // the first row that begins after the entry
	return &dataerr.FileError{Path: path, Offset: -1, Line: LibsvmLine(path, following-1),
		Err: fmt.Errorf("%w: a feature has the index %d, the limit is %d", dataerr.ErrIndex, x.Cols, MaxUserFeatures)}
}

// SetClasses sets the labels of a file's rows: -1 and +1 for two values, the larger value +1, and
// one class for each of more values, in their order. names are the classes that the user chose;
// nil: all values.
func (s *Source) SetClasses(path string, values []float64, names []string) error {
	seen := map[float64]int{} // the index in distinct
	for _, v := range values {
		seen[v] = 0
	}
	distinct := slices.Sorted(maps.Keys(seen))
	for k, v := range distinct {
		seen[v] = k
	}
	fail := func(err error) error { return &dataerr.FileError{Path: path, Offset: -1, Err: err} }
	if len(distinct) == 1 {
		return fail(fmt.Errorf("%w: all are %v, want at least two values", dataerr.ErrLabel, distinct[0]))
	}
	if len(distinct) > MostClasses {
		return fail(fmt.Errorf("%w: it has %d values (%v, %v, ...), want at most %d classes", dataerr.ErrLabel, len(distinct), distinct[0], distinct[1], MostClasses))
	}
	var texts []string
	for _, v := range distinct {
		texts = append(texts, textvalue.FormatNumber(v))
	}
	if names == nil && len(texts) == 2 {
		s.Label = tabular.Label{Positive: texts[1], Negative: texts[:1]}
		s.Classes = []string{fmt.Sprintf("label %v", distinct[0]), fmt.Sprintf("label %v", distinct[1])}
		s.setLabels(values, func(v float64) int { return tabular.LabelOf(seen[v], 2) })
		return nil
	}
	s.Classes = texts
	if names != nil {
		var err error
		if s.Classes, err = ChosenClasses(texts, names); err != nil {
			return fail(err)
		}
	}
	s.Label.Several = s.Classes
	for _, text := range texts {
		if !slices.Contains(s.Classes, text) {
			s.Label.Others = append(s.Label.Others, text)
		}
	}
	labelOf := make([]int, len(texts)) // label of each distinct value
	for k, text := range texts {
		labelOf[k] = Outside
		if class := slices.Index(s.Classes, text); class >= 0 {
			labelOf[k] = tabular.LabelOf(class, len(s.Classes))
		}
	}
	s.setLabels(values, func(v float64) int { return labelOf[seen[v]] })
	return nil
}

// setLabels sets the label of each row from its value.
func (s *Source) setLabels(values []float64, label func(v float64) int) {
	s.Labels = make([]int, len(values))
	for i, v := range values {
		s.Labels[i] = label(v)
	}
}
