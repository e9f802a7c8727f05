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

// adultFeatures is the number of features of Adult. The file a9a.t does not show it, because no row
// of a9a.t has the last feature.
const adultFeatures = 123

// adultBlocks describes the features in order. In each block one feature is 1. If the census has no
// answer, all features of the block are 0. A "band" is an interval whose bounds are not published.
var adultBlocks = [...]struct {
	name       string
	categories string
	counts     []int // number of rows with each feature, in both files
}{
	{"age",
		`17-25 26-32 33-40 41-49 50-90`,
		[]int{9627, 8744, 10260, 9537, 10674}},
	{"workclass",
		`Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked`,
		[]int{33906, 3862, 1695, 1432, 3136, 1981, 21, 10}},
	{"fnlwgt",
		`band1 band2 band3 band4 band5`,
		[]int{9862, 9778, 9671, 9738, 9793}},
	{"education",
		`Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters 1st-4th 10th
		Doctorate 5th-6th Preschool`,
		[]int{8025, 10878, 1812, 15784, 834, 1601, 2061, 756, 955, 657, 2657, 247, 1389, 594, 509, 83}},
	{"education-num",
		`1-8 9 10 11-12 13-16`,
		[]int{6408, 15784, 10878, 3662, 12110}},
	{"marital-status",
		`Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse`,
		[]int{22379, 6633, 16117, 1530, 1518, 628, 37}},
	{"occupation",
		`Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners Machine-op-inspct
		Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces`,
		[]int{1446, 6112, 4923, 5504, 6086, 6172, 2072, 3022, 5611, 1490, 2355, 242, 983, 15}},
	{"relationship",
		`Wife Own-child Husband Not-in-family Other-relative Unmarried`,
		[]int{2331, 7581, 19716, 12583, 1506, 5125}},
	{"race",
		`White Asian-Pac-Islander Amer-Indian-Eskimo Other Black`,
		[]int{41762, 1519, 470, 406, 4685}},
	{"sex",
		`Female Male`,
		[]int{16192, 32650}},
	{"capital-gain",
		`none some`,
		[]int{44807, 4035}},
	{"capital-loss",
		`none some`,
		[]int{46560, 2282}},
	{"hours-per-week",
		`band1 band2 band3 band4 band5`,
		[]int{8395, 3292, 22803, 3862, 10490}},
	{"native-country",
		`United-States Cambodia England Puerto-Rico Canada Germany Outlying-US India Japan Greece South China Cuba Iran
		Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland France Dominican-Republic Laos
		Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador
		Trinadad&Tobago Peru Hong Holand-Netherlands`,
		[]int{43832, 28, 127, 184, 182, 206, 23, 151, 92, 49, 115, 122, 138, 59, 20, 295, 105, 87, 106, 86, 951, 67,
			37, 38, 103, 23, 45, 65, 75, 85, 19, 88, 49, 21, 30, 23, 155, 27, 46, 30, 1}},
}

// SparseAttributes makes attributes of new rows in LIBSVM's format for the named data set. The
// texts follow the rules of TableOptions.Attributes. values has the values of each attribute in the
// training; nil: the training had no such attribute.
func SparseAttributes(p *tabular.Preparation, dataset string, x *matrix.CSR, texts []string, values [][]string) ([]tabular.Attribute, error) {
	d := &loader.SparseDesign{Shift: p.Shift()}
	if strings.HasSuffix(dataset, adult().Name) {
		d = adultDesign()
	}
	attributes, _, err := d.Attributes(x, texts)
	for k := range attributes {
		attributes[k].Follow(values[k])
	}
	return attributes, err
}
