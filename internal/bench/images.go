package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"math/rand/v2"
	"strconv"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/internal/config"
	"ppal/models"
	"ppal/trainer/session"
)

// Rows of each class in the published data sets.
const (
	fashionTrain, fashionTest = 6000, 1000
	cifarTrain, cifarTest     = 5000, 1000
)

// imageCases returns multi-class Neyman-Pearson problems on 8-bit images, with PPALA's practical
// settings.
func imageCases(shrink int) []Case {
	fashion := func(name, products, about string, more ...string) Case {
		return imageCase(name, products, about, "fashion-mnist", fashionTrain/shrink, fashionTest/shrink, more...)
	}
	cifar := imageCase("mnpc-cifar10", "auto", "CIFAR-10, 4 classes, 256 hidden units", "cifar10", cifarTrain/shrink, cifarTest/shrink)
	return []Case{
		fashion("mnpc-fashion-mnist", "auto", "Fashion-MNIST, 4 classes, 256 hidden units"),
		fashion("mnpc-fashion-mnist-float32", "float32", "the same with products in floating point"),
		fashion("mnpc-fashion-mnist-int8x2", "int8x2", "the same with two 8-bit digits for each product"),
		fashion("mnpc-fashion-mnist-separate", "auto", "the same with a network for each class, 64 hidden units each",
			"heads", "separate", "hidden", "64"),
		cifar,
		pictureCase("conv-fashion-mnist", "Fashion-MNIST, 500 pictures, convolutions with 16 and 32 filters", "fashion-mnist", "16,32", shrink),
		pictureCase("conv-cifar10", "CIFAR-10, 500 pictures, convolutions with 32, 64 and 128 filters", "cifar10", "32,64,128", shrink),
	}
}

// picturesPerClass is the number of pictures of each of 4 classes in the cases of convolutions. An
// iteration on so few takes a fraction of a second, and its layers are kept.
const picturesPerClass = 125

// pictureCase returns a case of a convolutional network.
func pictureCase(name, about, dataset, channels string, shrink int) Case {
	rows := max(2, picturesPerClass/shrink)
	return imageCase(name, "auto", about, dataset, rows, rows, "model", models.KindConv, "channels", channels, "method", "ppala", "batch-size", "0")
}

// imageCase returns a case with rowsPerClass rows of each class. settings are pairs of a key and a
// value.
func imageCase(name, products, about, dataset string, rowsPerClass, testPerClass int, settings ...string) Case {
	c := Case{Name: name, About: about, products: products, settings: config.Values{
		"dataset": dataset, "rows-per-class": strconv.Itoa(rowsPerClass),
	}}
	for i := 0; i < len(settings); i += 2 {
		c.settings[settings[i]] = settings[i+1]
	}
	c.open = func(ctx context.Context, s setting) (*workload, error) { return openImages(ctx, s, testPerClass) }
	return c
}

// openImages builds the training run of the configuration, on random images if the files are
// absent.
func openImages(ctx context.Context, s setting, testPerClass int) (*workload, error) {
	o, err := s.options()
	if err != nil {
		return nil, err
	}
	run, err := session.New(ctx, o)
	if errors.Is(err, fs.ErrNotExist) {
		return openRandomImages(ctx, s, testPerClass)
	}
	if err != nil {
		return nil, err
	}
	return onImages(run, s, fromFiles), nil
}

// openRandomImages builds the run on random images with the data set's shape. The time of an
// iteration does not depend on the pixels.
func openRandomImages(ctx context.Context, s setting, testPerClass int) (*workload, error) {
	d, err := datasets.Lookup(s.Dataset)
	if err != nil {
		return nil, err
	}
	o, err := s.options()
	if err != nil {
		return nil, err
	}
	o.Data = session.ImagesAtHand{Train: randomImages(d, s.Pictures.Classes, s.Pictures.RowsPerClass, 1), Test: randomImages(d, s.Pictures.Classes, testPerClass, 2),
		Normalize: s.Pictures.Normalize, Shape: d.Shape}
	run, err := session.New(ctx, o)
	if err != nil {
		return nil, err
	}
	return onImages(run, s, synthetic), nil
}

func onImages(run *session.Session, s setting, data string) *workload {
	info := run.Describe()
	w := &workload{shape: Shape{Features: info.Features, Width: width(s.Train), Data: data}, products: info.Products, setting: s, keep: run}
	w.problem, w.method = run.Problem(), run.Method()
	for _, c := range info.Classes {
		w.shape.Rows += c.Train
		w.held += c.Test
	}
	w.references = w.dense
	if channels := s.Model.Shape.Channels; len(channels) > 0 {
		w.references = func() ([]reference, error) { return w.patches(channels) }
	}
	return w
}

// width returns the number of columns by which the data matrix is multiplied: the hidden units of
// all heads, or the scores.
func width(cfg config.Train) int {
	hidden := cfg.Model.Shape.Hidden
	switch {
	case len(cfg.Model.Shape.Channels) > 0:
		return cfg.Model.Shape.Channels[0]
	case len(hidden) > 0 && cfg.Model.Shape.Heads == models.Separate:
		return len(cfg.Pictures.Classes) * hidden[0]
	case len(hidden) > 0:
		return hidden[0]
	}
	return max(1, len(cfg.Pictures.Classes))
}

// randomImages generates rowsPerClass images of each of the classes.
func randomImages(d datasets.Dataset, classes []int, rowsPerClass int, seed uint64) *picture.Selection {
	s := &picture.Selection{Classes: classes, Offsets: []int{0}}
	for k, class := range classes {
		s.Names = append(s.Names, d.Classes[class])
		s.Offsets = append(s.Offsets, (k+1)*rowsPerClass)
	}
	rows, pixels := len(classes)*rowsPerClass, d.Shape.Pixels()
	s.Pixels = &matrix.Bytes{Rows: rows, Cols: pixels, Data: randomBytes(rows*pixels, seed), Scale: picture.PixelScale}
	return s
}

func randomBytes(n int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 0x62656e6368))
	data := make([]byte, 0, n+7)
	for len(data) < n {
		data = binary.LittleEndian.AppendUint64(data, rng.Uint64())
	}
	return data[:n]
}
