package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"ppal/datasets"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/option"
	"ppal/models"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/session/results"
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
	// Augment says which copies of a training picture are training rows; "" means the picture alone.
	Augment picture.Augmentation
}

// Pictures are pictures of a program's own. The session reads the pixels once, into the layout of
// its device, as it does for Images.
type Pictures struct {
	// Open opens the training and test pictures for each load: picture.NewPictures.
	Open func() (train, test *picture.Pictures, err error)
	// Classes, RowsPerClass, Split, SplitSeed, Normalize and Augment are those of Images; nil Classes:
	// all.
	Classes      []int
	RowsPerClass int
	Split        tabular.Split
	SplitSeed    uint64
	Normalize    models.NormalizationKind
	Augment      picture.Augmentation
	Name         string             // as in Matrices
	Files        []results.DataFile // as in Matrices
}

// ImagesAtHand holds pictures in memory. The session does not change the selections. Validation
// may be nil. Name and Files are those of Matrices.
type ImagesAtHand struct {
	Train, Validation, Test *picture.Selection
	Name                    string
	Files                   []results.DataFile
	// Normalize says how to normalise the pixels; "" means DefaultNormalize.
	Normalize models.NormalizationKind
	Shape     picture.Shape // of each picture; only convolutional and residual networks need it
}

// options returns the settings that only pictures have, bound to the fields of s: flags of ppal
// train.
func (s *Images) options() []*option.Option {
	pixels := option.OnDataSet("pictures", append(datasets.PictureSets(), datasets.Pictures)...)
	return []*option.Option{
		option.Count("rows-per-class", &s.RowsPerClass, option.AtLeast(0), "train on the first N rows of each class; 0: all rows").
			Or("0").With(option.OnDataSet("pictures", datasets.PictureSets()...)),
		option.Choice("normalize", &s.Normalize, "transform the pixels before training",
			models.NormalizeNone, models.NormalizeCenter, models.NormalizeStandardize).
			Or(string(DefaultNormalize)).With(pixels),
		option.Choice("augment", &s.Augment, "make more training rows of each picture: flip adds its mirror image; flip-shift adds 17 mirrored and moved copies",
			picture.AugmentNone, picture.AugmentFlip, picture.AugmentFlipShift).
			Or(string(picture.AugmentNone)).With(pixels),
	}
}

// flagSettings implements withFlags.
func (s Images) flagSettings() []*option.Option {
	s.Normalize, s.Augment = cmp.Or(s.Normalize, DefaultNormalize), cmp.Or(s.Augment, picture.AugmentNone)
	shared := tabular.TableOptions{Split: cmp.Or(s.Split, tabular.Split{Train: 100}), SplitSeed: s.SplitSeed}
	for _, class := range s.classes() {
		shared.Classes = append(shared.Classes, strconv.Itoa(class))
	}
	flags := option.DataSet(datasets.Names(nil), &s.Dataset, &s.Dir)
	flags = append(flags, option.Select(option.Of(&shared), "split", "split-seed")...)
	return append(append(flags, s.options()...), option.Select(option.Of(&shared), "classes")...)
}

// PictureSource is a Source of pictures, whose task in words is NameClassRates.
type PictureSource interface {
	Source
	HoldsPictures() bool
}

// HoldsPictures implements PictureSource.
func (Images) HoldsPictures() bool { return true }

// HoldsPictures implements PictureSource.
func (Pictures) HoldsPictures() bool { return true }

// HoldsPictures implements PictureSource.
func (ImagesAtHand) HoldsPictures() bool { return true }

// Load implements Source. If the CPU multiplies the pixels as integers, Load reads the training
// rows directly into the layouts of the CPU's products. Other rows stay in the form
// of the file. With bounded memory, the rows lie in files.
func (s Images) Load(ctx context.Context, on Request) (*Data, error) {
	dir, err := dataDir(s.Dataset, s.Dir)
	if err != nil {
		return nil, err
	}
	c := load.Choice{Dataset: s.Dataset, Dir: dir, Classes: s.classes(), RowsPerClass: s.RowsPerClass, Split: s.Split, Seed: cmp.Or(s.SplitSeed, on.on.Seed)}
	on.on.Augment = s.Augment
	return normalized(load.ReadImages(ctx, c, cmp.Or(s.Normalize, DefaultNormalize), on.on))
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
	l, err := normalized(load.PicturesAtHand(s.Train, s.Validation, s.Test, cmp.Or(s.Normalize, DefaultNormalize), on.on))
	if err == nil {
		l.rows.Shape = s.Shape
	}
	return named(l, s.Name, s.Files), err
}

// Load implements Source.
func (s Pictures) Load(_ context.Context, on Request) (*Data, error) {
	if s.Open == nil {
		return nil, fmt.Errorf("session: %w: Pictures without Open", ErrOptions)
	}
	train, test, err := s.Open()
	if err != nil {
		return nil, err
	}
	classes := s.Classes
	for k := 0; s.Classes == nil && k < len(train.Classes); k++ {
		classes = append(classes, k)
	}
	c := load.Choice{Dataset: s.Name, Classes: classes, RowsPerClass: s.RowsPerClass, Split: s.Split, Seed: cmp.Or(s.SplitSeed, on.on.Seed)}
	on.on.Augment = s.Augment
	return normalized(load.Opened(train, test, s.Files, c, cmp.Or(s.Normalize, DefaultNormalize), on.on))
}

// normalized returns the rows of pictures, or the error of their normalisation.
func normalized(l *load.Data, err error) (*Data, error) {
	if errors.Is(err, load.ErrEqualRows) {
		return nil, &OptionError{Option: "normalize", Problem: "is standardize, and all training rows are equal: choose none"}
	}
	if err != nil {
		return nil, err
	}
	return &Data{rows: l}, nil
}

// PictureFiles are the user's own pictures: a folder with a folder for each class, the PNG and JPEG
// files that a CSV file names, or a file in the IDX format. The rows have labels, groups and splits
// as a Table has, and the features are pixels.
type PictureFiles struct {
	// Dir is the directory in which the decoded pixels are kept for later runs; "": ppal in the user's
	// cache directory.
	Dir string
	// TableOptions say which pictures to read. Seed 0 means the session's seed.
	tabular.TableOptions
	// Normalize says how to normalise the pixels; "" means DefaultNormalize.
	Normalize models.NormalizationKind
	// Augment says which copies of a training picture are training rows; "" means the picture alone.
	Augment picture.Augmentation
}

// flagSettings implements withFlags.
func (s PictureFiles) flagSettings() []*option.Option {
	pixels := Images{Normalize: cmp.Or(s.Normalize, DefaultNormalize), Augment: cmp.Or(s.Augment, picture.AugmentNone)}
	return append(s.table().flagSettings(), pixels.options()...)
}

// beyond implements beyondFlags.
func (s PictureFiles) beyond(seed uint64) []string { return s.table().beyond(seed) }

// table returns the settings that tables have too.
func (s PictureFiles) table() Table {
	return Table{Dataset: datasets.Pictures, Dir: s.Dir, TableOptions: s.TableOptions}
}

// Load implements Source. The pixels have the forms of those of Images.
func (s PictureFiles) Load(ctx context.Context, on Request) (*Data, error) {
	on.on.Augment = s.Augment
	return normalized(load.ReadPictureFiles(ctx, s.Dir, s.TableOptions, cmp.Or(s.Normalize, DefaultNormalize), on.on))
}
