package load

import (
	"cmp"
	"context"
	"fmt"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/recordio"
	"ppal/models"
	"ppal/trainer/session/results"
)

// ReadPictureFiles reads the user's own pictures: their table, and the pixels. dir is the directory
// in which the decoded pixels are kept for later runs; "": ppal in the user's cache directory.
func ReadPictureFiles(ctx context.Context, dir string, options tabular.TableOptions, kind models.NormalizationKind, on Request) (*Data, error) {
	if dir == "" {
		dir = cacheDir()
	}
	if options.JoinFile == "" && recordio.IsIDX(options.File) {
		options.JoinFile = recordio.LabelsOf(options.File)
	}
	return verified(ctx, dir, datasets.Pictures, options.OwnFiles(), func(func() (*datasets.Report, error)) (*Data, error) {
		options.Seed, options.Unread = cmp.Or(options.Seed, on.Seed), true
		t, err := loadTable(ctx, dir, datasets.Pictures, options, on)
		if err != nil {
			return nil, err
		}
		l, err := FromTables(t, on)
		if err != nil {
			return nil, err
		}
		return l, l.readPixels(ctx, t, dir, kind, on)
	})
}

// readPixels replaces the features of a table of pictures by their pixels, normalised with the
// moments of the training rows.
func (l *Data) readPixels(ctx context.Context, t *tabular.Tables, dir string, kind models.NormalizationKind, on Request) error {
	e := t.Pictures.Encoding
	l.Shape = picture.Shape{Height: e.Height, Width: e.Width, Channels: e.Channels}
	a := &Pictures{place: placeOf(on), cols: e.Pixels()}
	a.packed = a.place.CPU != nil && a.place.Packs(a.cols)
	places, rows := make([]int, len(t.Pictures.Files)), 0
	for i := range places {
		places[i] = -1
	}
	for _, part := range t.Parts() {
		own := Part{Selection: picture.Selection{Classes: []int{0}, Offsets: []int{0, part.Rows()}}}
		switch part.Table {
		case t.Train:
			a.Train = own
		case t.Validation:
			a.Validation = &own
		default:
			a.Test = own
		}
		for _, i := range part.Features.(*tabular.PictureRows).Of {
			places[i] = rows
			rows++
		}
	}
	if t.Test == nil {
		a.Test.Selection = picture.Selection{Offsets: []int{0}}
	}
	pixels, close, err := l.decoded(ctx, t.Pictures, dir, on.Memory)
	if err != nil {
		return err
	}
	defer close()
	if err := a.readAll(picture.NewPictures(make([]uint8, len(places)), nil, l.Shape, 0, nil, section(pixels)), places); err != nil {
		return err
	}
	if err := l.setPixels(a, t, kind); err != nil {
		return err
	}
	l.augment(on.Augment)
	return nil
}

// setPixels makes the pixels of the parts the rows of the splits.
func (l *Data) setPixels(a *Pictures, t *tabular.Tables, kind models.NormalizationKind) error {
	n, err := normalization(kind, func() ([]float64, float64) { return a.Center, a.Deviation })
	if err != nil {
		return err
	}
	l.normalized(n)
	pixels := []Pixels{a.Train.Pixels}
	if a.Validation != nil {
		pixels = append(pixels, a.Validation.Pixels)
	}
	pixels = append(pixels, a.Test.Pixels)
	for k, s := range l.Splits {
		s.Data = pixels[k].(matrix.Matrix)
		if n.Kind == models.NormalizeStandardize {
			x := s.Data.(Pixels)
			x.SetScale(x.ByteScale() / n.Deviation)
		}
	}
	l.Description.Data = append(l.Description.Data, results.DataFile{
		Name: fmt.Sprintf("%d pictures", len(t.Pictures.Files)), Bytes: t.Pictures.Bytes, SHA256: t.Pictures.SHA256})
	return nil
}

// readAll allocates the pixels of the parts, and reads them from one set. places[i] is the row of
// picture i among the training, validation and test rows; negative: none.
func (a *Pictures) readAll(from *picture.Pictures, places []int) error {
	if err := a.allocate(); err != nil {
		return err
	}
	held := matrix.RowStore(a.Test.Pixels)
	if a.Validation != nil {
		held = picture.Joined{First: a.Validation.Pixels, Second: held, Rows: a.Validation.Rows()}
	}
	train := a.Train.Rows()
	sums, err := from.Read(places, train, picture.Joined{First: a.Train.Pixels, Second: held, Rows: train})
	if err == nil {
		a.Center, a.Deviation = sums.Moments(picture.PixelScale)
	}
	return err
}

// decoded returns the pixels of all pictures of a set: those that an earlier run has kept, or
// those of the files, which it keeps. The key of the kept pixels has the contents of the pictures,
// and not their paths. The caller reads the pixels and then calls close.
func (l *Data) decoded(ctx context.Context, set *tabular.PictureSet, dir string, bound int64) (pixels []uint8, close func(), err error) {
	e := set.Encoding
	k := keepPictures(dir, "pictures", nil, struct {
		SHA256                string
		Height, Width, Colors int
	}{set.SHA256, e.Height, e.Width, e.Channels}, func() (string, error) { return set.SHA256, nil }, bound, l.noteKept)
	if arrays := k.open(); arrays != nil {
		return arrays[0], k.close, nil
	}
	arrays := [][]uint8{k.buffer(len(set.Files) * e.Pixels())}
	reader := picture.NewReader(*e)
	defer reader.Close()
	if err := reader.ReadSet(ctx, set, arrays[0]); err != nil {
		k.close()
		return nil, nil, err
	}
	k.keep(arrays)
	return arrays[0], k.close, nil
}

// noteKept adds a note about kept pictures.
func (l *Data) noteKept(text string) { l.KeptNotes = append(l.KeptNotes, text) }
