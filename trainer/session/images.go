package session

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/option"
	"ppal/models"
	"ppal/trainer/session/internal/load"
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
		a, err := load.ReadPictures(train, test, load.Choice{Dataset: s.Dataset, Dir: dir, Classes: s.classes(), RowsPerClass: s.RowsPerClass,
			Split: s.Split, Seed: cmp.Or(s.SplitSeed, on.seed)}, s.place(on, report))
		if err != nil {
			return nil, err
		}
		moments := func() (center []float64, deviation float64) { return a.Center, a.Deviation }
		l, err := loadPictures(a.Train, a.Validation, &a.Test, moments, s.Normalize)
		if err != nil {
			return nil, err
		}
		l.description.Data, l.shape = sums, train.Shape
		l.description.Notes, l.description.Warnings = append(l.description.Notes, a.Notes...), append(l.description.Warnings, a.Warnings...)
		return l, l.addEarlier(on.needs.Files)
	})
}

// place says where the pixels go. Processes that share the rows keep their own rows, unless they
// draw batches from all rows or the rows lie in files; they pack their own rows later. The pixels
// of a built-in set, which a seed generates, do not stay.
func (s Images) place(on Request, report func() (*datasets.Report, error)) load.Place {
	d := on.devices
	p := load.Place{CPU: d.cpu, Packs: on.packs, Pages: d.pages, Sums: func() (string, error) {
		r, err := report()
		if err != nil {
			return "", err
		}
		var sums []string
		for _, f := range r.Files {
			sums = append(sums, f.SHA256)
		}
		return strings.Join(sums, " "), nil
	}}
	if d.team != nil && d.pages == nil && !on.batches {
		p.Own = d.share
	}
	if !builtIn(s.Dataset) {
		p.Kept = d.options.keptRows()
	}
	return p
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
	var validation *load.Part
	if s.Validation != nil {
		own := atHand(s.Validation)
		validation = &own
	}
	moments := func() (center []float64, deviation float64) { return matrix.Moments(s.Train.Pixels) }
	l, err := loadPictures(train, validation, &test, moments, s.Normalize)
	if err != nil {
		return nil, err
	}
	return l, l.addEarlier(on.needs.Files)
}

// atHand returns a selection as a part.
func atHand(s *picture.Selection) load.Part {
	own := *s.Pixels // the copy shares the values
	return load.Part{Selection: *s, Pixels: &own}
}

// loadPictures normalises the pictures by the moments of the training rows. validation may be nil.
func loadPictures(train load.Part, validation, test *load.Part, moments func() ([]float64, float64), kind models.NormalizationKind) (*Data, error) {
	kind = cmp.Or(kind, DefaultNormalize)
	n, err := normalization(kind, moments)
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
func imageRows(s load.Part, n models.Normalization) rows {
	if n.Kind == models.NormalizeStandardize {
		s.Pixels.SetScale(s.Pixels.ByteScale() / n.Deviation)
	}
	r := rows{data: s.Pixels, labels: make([]int, s.Rows()), source: s.Source}
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
func normalization(kind models.NormalizationKind, moments func() (center []float64, deviation float64)) (models.Normalization, error) {
	n := models.Normalization{Kind: kind}
	if kind == models.NormalizeNone {
		return n, nil
	}
	center, deviation := moments()
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
