package datasets

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"

	"ppal/datasets/matrix"
)

// ownLIBSVM describes a user's file in LIBSVM's format with two label values. The larger label is
// class +1.
func ownLIBSVM() Dataset {
	return Dataset{
		Name:        "libsvm",
		Description: "your own file in LIBSVM's format; groups by feature number",
		Own:         true,
		Sparse:      true,
		table: func(_ string, opts TableOptions) (*source, error) {
			file, err := LoadLIBSVM(opts.File, 0)
			if err != nil {
				return nil, err
			}
			if file.X.Cols > maxOwnFeatures {
				return nil, tooWide(opts.File, file.X)
			}
			s := &source{}
			if s.labels, s.classes, err = signs(opts.File, file.Labels); err != nil {
				return nil, err
			}
			s.label = Label{Positive: formatNumber(slices.Max(file.Labels)), Negative: []string{formatNumber(slices.Min(file.Labels))}}
			return s, s.sparse(file.X, &sparseDesign{}, opts)
		},
	}
}

// maxOwnFeatures is the largest number of features of a user's file. It equals the largest number
// of parameters of a model, because a linear model has one parameter for each feature.
const maxOwnFeatures = 1 << 25

// tooWide returns the error for a matrix with too many features, at the line of the last feature.
func tooWide(path string, x *matrix.CSR) error {
	at := slices.Index(x.Columns, int32(x.Cols-1))
	following, _ := slices.BinarySearch(x.Starts, at+1) // the first row that begins after the entry
	return &FileError{Path: path, Offset: -1, Line: libsvmLine(path, following-1),
		Err: fmt.Errorf("%w: a feature has the index %d, the limit is %d", ErrIndex, x.Cols, maxOwnFeatures)}
}

// signs maps a file's two labels to -1 and +1, the larger label to +1.
func signs(path string, values []float64) (labels []int, classes [2]string, err error) {
	least, most := slices.Min(values), slices.Max(values)
	if least == most {
		return nil, classes, &FileError{Path: path, Offset: -1, Err: fmt.Errorf("%w: all are %v, want two values", ErrLabel, least)}
	}
	labels = make([]int, len(values))
	for i, v := range values {
		switch v {
		case least:
			labels[i] = -1
		case most:
			labels[i] = +1
		default:
			return nil, classes, &FileError{Path: path, Offset: -1, Line: libsvmLine(path, i),
				Err: fmt.Errorf("%w: %v, where others are %v and %v; want two values", ErrLabel, v, least, most)}
		}
	}
	return labels, [2]string{fmt.Sprintf("label %v", least), fmt.Sprintf("label %v", most)}, nil
}

// libsvmLine returns the line number of a row in the file, or 0 if it does not find the row.
func libsvmLine(path string, row int) int {
	f, err := openInput(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	c, err := newContent(f, path)
	if err != nil {
		return 0
	}
	lines := lineReader{r: bufio.NewReader(c)}
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
