package datasets

// Sizes of the synthetic set.
const (
	syntheticSide      = 28
	syntheticTrainRows = 1200 // per class, by default
	syntheticTestRows  = 500
)

// SyntheticConfig says how large a synthetic set to draw, and from which seed.
// The zero value gives the default sizes; negative ones panic.
type SyntheticConfig struct {
	Seed          uint64
	TrainPerClass int // 0 means 1200
	TestPerClass  int // 0 means 500
}

// syntheticSet describes the built-in set.
func syntheticSet() Dataset {
	classes := make([]string, len(glyphs))
	for i, g := range glyphs {
		classes[i] = g.name
	}
	d := Dataset{
		Name:        "synthetic",
		Description: "built in: pen strokes that blend into one another, drawn from the seed",
		Classes:     classes,
		Shape:       Shape{Height: syntheticSide, Width: syntheticSide, Channels: 1},
	}
	d.images = func(_ string, seed uint64) (train, test *Pictures, err error) {
		ofTrain, ofTest := Synthetic(SyntheticConfig{Seed: seed})
		return drawn(ofTrain), drawn(ofTest), nil
	}
	return d
}

// Synthetic draws a training and a test set of 28 x 28 8-bit pictures. Every
// class is one stroke of a pen (see glyphs). A picture is drawn so:
//
//  1. Its stroke is a blend (1-t) own + t other of its class's stroke and
//     another's, most often its neighbour's. t is small most of the time, but
//     reaches past 1/2: those pictures are ambiguous, no model gets them all,
//     or must learn each by heart, and a model chooses which class pays.
//  2. Every control point moves a little by itself; then the stroke is turned,
//     sheared, scaled and shifted as a whole, and smoothed.
//  3. It is drawn light on dark with a pen of random width and brightness, under
//     a slope of brightness and a little noise.
//
// All of it is integer arithmetic on a PCG stream, so one seed gives the same
// bytes on every machine. Every class has its own streams for training and
// test rows: asking for more rows leaves the earlier ones as they are. Rows of
// the classes alternate.
func Synthetic(cfg SyntheticConfig) (train, test *Images) {
	if cfg.TrainPerClass == 0 {
		cfg.TrainPerClass = syntheticTrainRows
	}
	if cfg.TestPerClass == 0 {
		cfg.TestPerClass = syntheticTestRows
	}
	return drawSet(cfg.Seed, 0, cfg.TrainPerClass), drawSet(cfg.Seed, 1, cfg.TestPerClass)
}
