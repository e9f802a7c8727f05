package datasets

import (
	"sync"

	"ppal/datasets/picture"
)

// Sizes of the synthetic set.
const (
	syntheticSide      = 28
	syntheticTrainRows = 1200 // per class, by default
	syntheticTestRows  = 500
)

// SyntheticConfig holds the sizes and the seed of a synthetic data set. The zero value gives the
// default sizes; negative sizes panic.
type SyntheticConfig struct {
	Seed          uint64
	TrainPerClass int // 0 is 1200
	TestPerClass  int // 0 is 500
}

// syntheticSet describes the built-in data set.
func syntheticSet() Dataset {
	classes := make([]string, len(glyphs))
	for i, g := range glyphs {
		classes[i] = g.name
	}
	d := Dataset{
		Name:        "synthetic",
		Description: "built in: pen strokes that blend into one another, generated from the seed",
		Classes:     classes,
		Shape:       picture.Shape{Height: syntheticSide, Width: syntheticSide, Channels: 1},
	}
	d.images = func(_ string, seed uint64) (train, test *picture.Pictures, err error) {
		train, test = lastDrawn.draw(seed)
		return train, test, nil
	}
	return d
}

// lastDrawn keeps the pictures of one seed, because programs that train several models open the
// same set again and again.
var lastDrawn drawnSets

type drawnSets struct {
	mu          sync.Mutex
	seed        uint64
	train, test *picture.Images
}

// of returns the pictures of the seed.
func (d *drawnSets) draw(seed uint64) (train, test *picture.Pictures) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.train == nil || d.seed != seed {
		d.seed = seed
		d.train, d.test = Synthetic(SyntheticConfig{Seed: seed})
	}
	return picture.Drawn(d.train), picture.Drawn(d.test)
}

// Synthetic generates a training and a test set of 28 x 28 8-bit images. Every class is one pen
// stroke (see glyphs). An image is generated in three steps:
//
//  1. The stroke of the image is a blend (1-t) own + t other of the stroke of the image's class
//     and the stroke of another class, most often a neighbour in the list. t is small most of the
//     time but may exceed 1/2. Images with a large t are ambiguous: a model classifies all of
//     these images correctly only if it memorises each image, so a model decides which class has
//     the errors.
//  2. Every control point moves by a small random amount. Then the stroke is rotated, sheared,
//     scaled and shifted as a whole, and smoothed.
//  3. The stroke is drawn light on dark with a pen of random width and brightness, on a background
//     with a brightness gradient and a little noise.
//
// All steps are integer arithmetic on a PCG stream, so a seed gives the same bytes on every
// machine. Every class has its own streams for training and test rows, so a larger set begins with
// the rows of a smaller set. The classes alternate from row to row.
func Synthetic(cfg SyntheticConfig) (train, test *picture.Images) {
	if cfg.TrainPerClass == 0 {
		cfg.TrainPerClass = syntheticTrainRows
	}
	if cfg.TestPerClass == 0 {
		cfg.TestPerClass = syntheticTestRows
	}
	return drawSet(cfg.Seed, 0, cfg.TrainPerClass), drawSet(cfg.Seed, 1, cfg.TestPerClass)
}
