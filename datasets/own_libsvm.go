package datasets

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"

	"ppal/datasets/matrix"
)

// ownLIBSVM describes a file of the user's in LIBSVM's format, whose labels
// take two values: the larger is +1.
func ownLIBSVM() Dataset {
	return Dataset{
		Name:        "libsvm",
		Description: "a file of yours in LIBSVM's format; groups by feature number",
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
			return s, s.sparse(file.X, &sparseDesign{}, opts)
		},
	}
}

// maxOwnFeatures is the most features that a user's file may have: a linear model has as many parameters, and no model has more.
const maxOwnFeatures = 1 << 25

// tooWide is the error of a matrix of more features, at the line of the last one.
func tooWide(path string, x *matrix.CSR) error {
	at := slices.Index(x.Columns, int32(x.Cols-1))
	following, _ := slices.BinarySearch(x.Starts, at+1) // the first row that begins after it
	return &FileError{Path: path, Offset: -1, Line: libsvmLine(path, following-1),
		Err: fmt.Errorf("%w: a feature has the index %d, want at most %d", ErrIndex, x.Cols, maxOwnFeatures)}
}

// signs maps a file's two labels onto -1 and +1, the larger on +1.
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

// libsvmLine is the line of a file's row, 0 where it cannot be found.
func libsvmLine(path string, row int) int {
	f, err := openFile(path)
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
