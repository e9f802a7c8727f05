package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/models"
)

// load reads the data set, and states the problem on it. Meanwhile its files are compared with the published ones.
func (e *Experiment) load(ctx context.Context, dataDir string) error {
	load := e.loadTables
	if e.cfg.Data.Problem == "mnpc" {
		load = e.loadImages
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	verified := meanwhile(func() (*datasets.Report, error) { return datasets.Verify(ctx, dataDir, e.cfg.Dataset, e.cfg.File) })
	if err := load(dataDir); err != nil {
		return err
	}
	report, err := verified()
	if err != nil {
		return err
	}
	e.info.Warnings = append(e.info.Warnings, report.Warnings...)
	for _, f := range report.Files {
		e.info.DataFiles = append(e.info.DataFiles, FileSum{Name: f.File.Path, Bytes: f.Size, SHA256: f.SHA256, State: f.State.String()})
	}
	return nil
}

// meanwhile does f beside what comes next; wait gives the result.
func meanwhile[T any](f func() (T, error)) (wait func() (T, error)) {
	var result T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = f()
	}()
	return func() (T, error) {
		<-done
		return result, err
	}
}

// pixels are the 8-bit rows of a split.
type pixels interface {
	matrix.EightBit
	matrix.RowStore
	SetScale(scale float64)
}

// pictures are a split's classes and pixels; the latter in place of the selection's.
type pictures struct {
	datasets.Selection
	pixels  pixels
	moments func() (center []float64, deviation float64)
}

// atHand are pictures that have been read. The selection stays as it is.
func atHand(s *datasets.Selection) pictures {
	own := *s.Pixels // shares the values
	return pictures{*s, &own, func() (center []float64, deviation float64) { return matrix.Moments(s.Pixels) }}
}

// loadImages reads the pictures of the classes. Those to train on go from the file into the layouts of the device's products with them,
// where it has such, the others row by row as they were read.
func (e *Experiment) loadImages(dataDir string) error {
	train, test, err := datasets.OpenImages(dataDir, e.cfg.Dataset, e.cfg.Seed)
	if err != nil {
		return err
	}
	if d, err := datasets.Lookup(e.cfg.Dataset); err == nil && len(d.Files) == 0 {
		if err := e.sumRows(train, test); err != nil {
			return err
		}
	}
	toTrain, err := train.Choose(e.cfg.Classes, e.cfg.RowsPerClass)
	if err != nil {
		return err
	}
	held, err := test.Choose(e.cfg.Classes, 0)
	if err != nil {
		return err
	}
	reading := meanwhile(func() (pictures, error) { return read(held, newBytes) })
	packed, err := read(toTrain, e.roomToTrain)
	asRead, heldErr := reading()
	if err = cmp.Or(err, heldErr); err != nil {
		return err
	}
	return e.takeImages(packed, asRead)
}

// read reads the choice's pictures into the room that is made for them.
func read(c *datasets.Choice, room func(rows, cols int) pixels) (pictures, error) {
	x := room(c.Dims())
	return pictures{c.Selection, x, c.Moments}, c.Read(x)
}

// newBytes makes room for rows as they are read, one after the other.
func newBytes(rows, cols int) pixels { return matrix.NewBytes(rows, cols, datasets.PixelScale) }

// roomToTrain makes room for rows in the layouts of the device's products with them, or as they are read where it has none.
func (e *Experiment) roomToTrain(rows, cols int) pixels {
	if e.cfg.Dtype == "float32" && e.device != nil && e.device.Products(cols).Digits() > 0 {
		return e.device.NewBytes(rows, cols, datasets.PixelScale)
	}
	return newBytes(rows, cols)
}

// packed returns training rows in the layouts of the device's products with them, or as they are if
// the device has no such layouts. The rows are stored once: nothing keeps the original.
func (e *Experiment) packed(x pixels) pixels {
	bytes, ok := x.(*matrix.Bytes)
	if !ok {
		return x
	}
	own := e.roomToTrain(x.Dims())
	if _, ok := own.(*matrix.Bytes); ok {
		return x
	}
	own.SetScale(bytes.Scale)
	own.SetRows(0, slices.Collect(slices.Chunk(bytes.Data, bytes.Cols)))
	return own
}

// takeImages states the Neyman-Pearson problem.
func (e *Experiment) takeImages(train, test pictures) (err error) {
	train.pixels = e.packed(train.pixels)
	if e.normalization, err = normalization(models.NormalizationKind(e.cfg.Normalize), train); err != nil {
		return err
	}
	e.splits = []*split{{name: "train", rows: imageRows(train, e.normalization)}, {name: "test", rows: imageRows(test, e.normalization)}}
	if e.t.spec, err = e.spec(e.splits[0].features(), len(train.Names)); err != nil {
		return err
	}
	e.t.center = scaledCenter(e.normalization)
	phi, err := constraints.ParsePhi(e.cfg.Phi)
	if err != nil {
		return err
	}
	np, err := constraints.NewNeymanPearson(train.Names, e.cfg.Kappa, phi)
	if err != nil {
		return err
	}
	e.t.goal = neymanPearson{np, e.cfg.Classes}
	e.info.Objective = train.Names[0]
	for k, name := range train.Names {
		e.info.Classes = append(e.info.Classes, e.part(name, func(r rows) int { return len(r.strata[k]) }))
	}
	if e.normalization.Kind == models.NormalizeStandardize {
		e.info.Normalization = fmt.Sprintf("%s (one deviation: %.6g)", e.cfg.Normalize, e.normalization.Deviation)
	}
	e.t.regularizer, err = e.regularizer()
	return err
}

// sumRows identifies rows that come from no file.
func (e *Experiment) sumRows(parts ...*datasets.Pictures) error {
	for i, name := range []string{"train", "test"} {
		set, err := parts[i].Images()
		if err != nil {
			return err
		}
		e.info.DataFiles = append(e.info.DataFiles, FileSum{Name: e.cfg.Dataset + " " + name,
			Bytes: int64(len(set.Pixels.Data) + len(set.Labels)), SHA256: set.SHA256()})
	}
	return nil
}

// imageRows takes the rows of a selection under their normalisation.
func imageRows(s pictures, n models.Normalization) rows {
	if n.Kind == models.NormalizeStandardize {
		s.pixels.SetScale(s.pixels.ByteScale() / n.Deviation)
	}
	r := rows{data: s.pixels, labels: s.Labels()}
	for k := range len(s.Offsets) - 1 {
		var class []int
		for i := s.Offsets[k]; i < s.Offsets[k+1]; i++ {
			class = append(class, i)
		}
		r.strata = append(r.strata, class)
	}
	return r
}

// normalization measures what kind asks for on the training rows.
func normalization(kind models.NormalizationKind, train pictures) (models.Normalization, error) {
	n := models.Normalization{Kind: kind}
	if kind == models.NormalizeNone {
		return n, nil
	}
	center, deviation := train.moments()
	n.Center = center
	if kind == models.NormalizeStandardize {
		if deviation == 0 {
			return n, fmt.Errorf("session: all training rows are equal, so they cannot be standardised: use --normalize none")
		}
		n.Deviation = deviation
	}
	return n, nil
}

// scaledCenter is c/s, nil without centring.
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
