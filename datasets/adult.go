package datasets

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/loader"
	"ppal/internal/recordio"
)

// adultClasses are the names of the two incomes.
var adultClasses = []string{"income<=50K", "income>50K"}

// adult describes Adult: 48,842 people of a census and whether they earn more than 50,000 dollars
// (Kohavi, "Scaling up the accuracy of naive-Bayes classifiers", KDD 1996), as 123 binary features
// (Platt, "Fast training of support vector machines using sequential minimal optimization", 1999;
// the rows of the files a9a and a9a.t together).
func adult() Dataset {
	const base = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
	d := Dataset{
		Name:        "adult",
		Description: "incomes of 48,842 people; groups sex=Female and sex=Male",
		Classes:     adultClasses,
		Features:    adultFeatures,
		Sparse:      true,
		Files: []File{
			{Path: "adult/a9a", Size: 2329875, URLs: []string{base + "a9a"},
				SHA256: "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906"},
			{Path: "adult/a9a.t", Size: 1164628, URLs: []string{base + "a9a.t"},
				SHA256: "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9"},
		},
	}
	d.table = func(_ context.Context, dir string, opts tabular.TableOptions) (*loader.Source, error) {
		s := &loader.Source{Classes: adultClasses, Label: adultLabel()}
		parts, labels, failures := make([]*matrix.CSR, len(d.Files)), make([][]int, len(d.Files)), make([]error, len(d.Files))
		recordio.InParallel(len(d.Files), func(i int) {
			parts[i], labels[i], failures[i] = readAdult(filepath.Join(dir, filepath.FromSlash(d.Files[i].Path)))
		})
		for i, file := range d.Files {
			if failures[i] != nil {
				return nil, failures[i]
			}
			s.Labels = append(s.Labels, labels[i]...)
			s.Files = append(s.Files, tabular.FileRows{Name: file.Path, Rows: len(labels[i])})
		}
		return s, s.Sparse(matrix.Stack(parts...), adultDesign(), opts, nil)
	}
	return d
}

// adultLabel returns the two labels that the files use.
func adultLabel() tabular.Label { return tabular.Label{Positive: "+1", Negative: []string{"-1"}} }

// readAdult reads one of the files. A row with an unknown label, or with neither or both sexes, is
// an error.
func readAdult(path string) (*matrix.CSR, []int, error) {
	file, err := loader.LoadLIBSVM(path, adultFeatures)
	if err != nil {
		return nil, nil, err
	}
	fail := func(row int, err error) (*matrix.CSR, []int, error) {
		return nil, nil, &dataerr.FileError{Path: path, Offset: -1, Line: loader.LibsvmLine(path, row), Err: err}
	}
	labels := make([]int, len(file.Labels))
	for i, y := range file.Labels {
		if y != -1 && y != 1 {
			return fail(i, fmt.Errorf("%w: %v, want -1 or +1", dataerr.ErrLabel, y))
		}
		labels[i] = int(y)
		if file.X.Has(i, adultFemale) == file.X.Has(i, adultMale) {
			return fail(i, fmt.Errorf("%w: want one of the features %d (female) and %d (male)", dataerr.ErrFormat, adultFemale+1, adultMale+1))
		}
	}
	return file.X, labels, nil
}

// The columns of the two sexes, from 0.
const (
	adultFemale = 71
	adultMale   = 72
)

func adultDesign() *loader.SparseDesign {
	d := &loader.SparseDesign{Groups: []int32{adultFemale, adultMale}}
	for b, block := range adultBlocks {
		d.Titles = append(d.Titles, block.name)
		for _, category := range strings.Fields(block.categories) {
			d.Names = append(d.Names, block.name+"="+category)
			d.Blocks = append(d.Blocks, b)
		}
	}
	return d
}
