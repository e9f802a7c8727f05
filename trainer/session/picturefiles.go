package session

import (
	"cmp"
	"context"

	"ppal/datasets"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/option"
	"ppal/models"
	"ppal/trainer/session/internal/load"
)

// PictureFiles are the user's own pictures: a folder with a folder for each class, the PNG and JPEG
// files that a CSV file names, or a file in the IDX format. The rows have labels, groups and splits
// as a Table has, and the features are pixels.
type PictureFiles struct {
	// Dir is the directory in which the decoded pixels are kept for later runs; "": $PPAL_DATA, else
	// the user's cache directory.
	Dir string
	// TableOptions say which pictures to read. Seed 0 means the session's seed.
	tabular.TableOptions
	// Normalize says how to normalise the pixels; "" means DefaultNormalize.
	Normalize models.NormalizationKind
	// Augment says which copies of a training picture are training rows; "" means the picture alone.
	Augment picture.Augmentation
}

// flagSettings implements withFlags.
func (s PictureFiles) flagSettings(seed uint64) (flags []*option.Option, beyond []string) {
	flags, beyond = Table{Dataset: datasets.Pictures, Dir: s.Dir, TableOptions: s.TableOptions}.flagSettings(seed)
	pixels := Images{Normalize: cmp.Or(s.Normalize, DefaultNormalize), Augment: cmp.Or(s.Augment, picture.AugmentNone)}
	return append(flags, pixels.options()...), beyond
}

// Load implements Source. The pixels have the forms of those of Images.
func (s PictureFiles) Load(ctx context.Context, on Request) (*Data, error) {
	dir, err := dataDir(datasets.Pictures, s.Dir)
	if err != nil {
		return nil, err
	}
	on.on.Augment = s.Augment
	return normalized(load.ReadPictureFiles(ctx, dir, s.TableOptions, cmp.Or(s.Normalize, DefaultNormalize), on.on))
}
