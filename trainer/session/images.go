package session

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/option"
	"ppal/models"
)

// Images is a published or built-in set of 8-bit pictures, with its own training and test rows.
type Images struct {
	Dataset      string // name in package datasets: "synthetic", "fashion-mnist", "cifar10"
	Dir          string // directory of the files; "": $PPAL_DATA, else the user's cache directory
	Classes      []int  // numbers of the classes, the objective's class first; nil: DefaultClasses
	RowsPerClass int    // number of training rows of each class, from the class's first row; 0: all
	// Split moves some of the training rows to a validation split: {90, 10, 0} moves a tenth of
	// each class. The test rows are the test rows of the data set. The zero value gives no
	// validation rows.
	Split tabular.Split
	// SplitSeed is the seed for the choice of the validation rows; 0 means the session's seed.
	SplitSeed uint64
	// Normalize says how to normalise the pixels; "" means DefaultNormalize.
	Normalize models.NormalizationKind
}

// ImagesAtHand holds pictures in memory. The session does not change the selections. Validation
// may be nil.
type ImagesAtHand struct {
	Train, Validation, Test *picture.Selection
	// Normalize says how to normalise the pixels; "" means DefaultNormalize.
	Normalize models.NormalizationKind
}

// pixels are the 8-bit rows of a split.
type pixels interface {
	matrix.EightBit
	matrix.RowStore
	SetScale(scale float64)
	// Copies returns the places of the copies of the values, which the caller may move.
	Copies() []*[]uint8
}

// pictures holds the classes and the pixels of a split. These pixels replace the pixels of the
// selection.
type pictures struct {
	picture.Selection
	pixels  pixels
	moments func() (center []float64, deviation float64)
}

// Options returns the settings that only pictures have, bound to the fields of s: flags of ppal
// train.
func (s *Images) Options() []*option.Option {
	return []*option.Option{
		option.Count("rows-per-class", &s.RowsPerClass, option.AtLeast(0), "train on the first N rows of each class; 0: all rows").
			Or("0").With(datasets.OnPictures()),
		option.Choice("normalize", &s.Normalize, "transform the pixels before training",
			models.NormalizeNone, models.NormalizeCenter, models.NormalizeStandardize).
			Or(string(DefaultNormalize)).With(datasets.OnPictures()),
	}
}

// Settings implements Described.
func (s Images) Settings(uint64) (flags []*option.Option, beyond []string) {
	s.Normalize = cmp.Or(s.Normalize, DefaultNormalize)
	shared := tabular.TableOptions{Split: cmp.Or(s.Split, tabular.Split{Train: 100}), SplitSeed: s.SplitSeed}
	for _, class := range s.classes() {
		shared.Classes = append(shared.Classes, strconv.Itoa(class))
	}
	flags = append(DataOptions(&s.Dataset, &s.Dir), datasets.SplitSettings(&shared)...)
	return append(append(flags, s.Options()...), datasets.ClassesSetting(&shared)), nil
}

// Load implements Source. If the CPU multiplies the pixels as integers, Load reads the training
// rows directly into the layouts of the CPU's products. Other rows stay in the form
// of the file. With bounded memory, the rows lie in files, which later sessions use again.
func (s Images) Load(ctx context.Context, on Request) (*Data, error) {
	dir, err := dataDir(s.Dataset, s.Dir)
	if err != nil {
		return nil, err
	}
	return verified(ctx, dir, s.Dataset, nil, func(report func() (*datasets.Report, error)) (*Data, error) {
		train, test, err := datasets.OpenImages(dir, s.Dataset, on.seed)
		if err != nil {
			return nil, err
		}
		var sums []DataFile
		if builtIn(s.Dataset) {
			if sums, err = sumRows(s.Dataset, train, test); err != nil {
				return nil, err
			}
		}
		a, err := s.choose(train, test, on)
		if err != nil {
			return nil, err
		}
		kept := s.keeper(a, dir, report)
		if !kept.load() {
			if err := a.read(); err != nil {
				return nil, err
			}
			kept.write()
		}
		l, err := loadPictures(a.train, a.validation, &a.test, s.Normalize)
		if err != nil {
			return nil, err
		}
		l.description.Data, l.shape = sums, train.Shape
		kept.describe(&l.description)
		return l, l.addEarlier(on.needs.Files)
	})
}

// classes returns the numbers of the classes.
func (s Images) classes() []int {
	if s.Classes == nil {
		return DefaultClasses()
	}
	return s.Classes
}

// Load implements Source.
func (s ImagesAtHand) Load(_ context.Context, on Request) (*Data, error) {
	train, test := atHand(s.Train), atHand(s.Test)
	var validation *pictures
	if s.Validation != nil {
		own := atHand(s.Validation)
		validation = &own
	}
	l, err := loadPictures(train, validation, &test, s.Normalize)
	if err != nil {
		return nil, err
	}
	return l, l.addEarlier(on.needs.Files)
}

// atHand returns a selection as pictures.
func atHand(s *picture.Selection) pictures {
	own := *s.Pixels // the copy shares the values
	return pictures{*s, &own, func() (center []float64, deviation float64) { return matrix.Moments(s.Pixels) }}
}

// loadPictures normalises the pictures. validation may be nil.
func loadPictures(train pictures, validation, test *pictures, kind models.NormalizationKind) (*Data, error) {
	kind = cmp.Or(kind, DefaultNormalize)
	n, err := normalization(kind, train)
	if err != nil {
		return nil, err
	}
	l := &Data{normalization: n, center: scaledCenter(n), pictures: train.Source != nil}
	for name, part := range inSplits(&train, validation, test) {
		l.splits = append(l.splits, &split{name: name, rows: imageRows(*part, n)})
	}
	l.description.Normalization = string(kind)
	if kind == models.NormalizeStandardize {
		l.description.Normalization = fmt.Sprintf("%s (one deviation: %.6g)", kind, n.Deviation)
	}
	return l, nil
}

// sumRows returns checksums of rows that do not come from a file.
func sumRows(dataset string, parts ...*picture.Pictures) ([]DataFile, error) {
	var sums []DataFile
	for i, name := range []Split{Training, Test} {
		set, err := parts[i].Images()
		if err != nil {
			return nil, err
		}
		sums = append(sums, DataFile{Name: fmt.Sprintf("%s %s", dataset, name),
			Bytes: int64(len(set.Pixels.Data) + len(set.Labels)), SHA256: set.SHA256()})
	}
	return sums, nil
}

// imageRows returns the rows of pictures. The scale of the pixels becomes the scale of the
// normalisation.
func imageRows(s pictures, n models.Normalization) rows {
	if n.Kind == models.NormalizeStandardize {
		s.pixels.SetScale(s.pixels.ByteScale() / n.Deviation)
	}
	r := rows{data: s.pixels, labels: make([]int, s.Rows()), source: s.Source}
	for k, name := range s.Names {
		r.classes = append(r.classes, Class{Name: name, Label: k, Number: s.Classes[k]})
		class := make([]int, 0, s.Offsets[k+1]-s.Offsets[k])
		for i := s.Offsets[k]; i < s.Offsets[k+1]; i++ {
			class, r.labels[i] = append(class, i), k
		}
		r.strata = append(r.strata, class)
	}
	return r
}

// normalization returns the normalisation of the given kind. Means and deviations come from the
// training rows.
func normalization(kind models.NormalizationKind, train pictures) (models.Normalization, error) {
	n := models.Normalization{Kind: kind}
	if kind == models.NormalizeNone {
		return n, nil
	}
	center, deviation := train.moments()
	n.Center = center
	if kind == models.NormalizeStandardize {
		if deviation == 0 {
			return n, &OptionError{Option: "normalize", Problem: "is standardize, and all training rows are equal: choose none"}
		}
		n.Deviation = deviation
	}
	return n, nil
}

// scaledCenter returns c/s; nil without centring.
func scaledCenter(n models.Normalization) []float64 {
	if n.Kind == models.NormalizeNone {
		return nil
	}
	c := append([]float64{}, n.Center...)
	if n.Kind == models.NormalizeStandardize {
		for i := range c {
			c[i] /= n.Deviation
		}
	}
	return c
}
