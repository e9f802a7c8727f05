package load

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/mapped"
	"ppal/internal/memory"
	"ppal/internal/recordio"
	"ppal/models"
	"ppal/trainer/session/results"
)

// ReadPictureFiles reads the user's own pictures: their table, and the pixels. dir is the data
// directory, in which the decoded pixels are kept for later runs.
func ReadPictureFiles(ctx context.Context, dir string, options tabular.TableOptions, kind models.NormalizationKind, on Request) (*Data, error) {
	if options.Beside == "" && recordio.IsIDX(options.File) {
		options.Beside = recordio.LabelsOf(options.File)
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
	a := &Pictures{place: placeOf("", on, nil), cols: e.Pixels()}
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
	files, err := l.openPacked(ctx, t.Pictures, dir, on.Pages)
	if err != nil {
		return err
	}
	defer files.close()
	if err := a.readAll(picture.NewPictures(make([]uint8, len(places)), nil, l.Shape, 0, nil, files.open), places); err != nil {
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
	if err := a.allocate(a.room()); err != nil {
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

// packedPictures are the decoded pixels of all pictures of a set, in memory or in a mapped file.
type packedPictures struct {
	pixels []byte
	pages  *mapped.Dir // of the pixels; nil: memory
	own    bool        // pages is closed after the reading
}

// packedVersion is the version of the kept pixels. Increase it when the same files give other
// pixels.
const packedVersion = 1

// packedRoom is the memory for the pages of the decoded pixels of a run without bounded memory.
const packedRoom = 256 << 20

// openPacked decodes the pictures, or opens the pixels that an earlier run has kept in the data
// directory. The name of the kept file depends on the contents of the pictures, and not on their
// paths. Without a directory in which the process can write, the pixels are in memory.
func (l *Data) openPacked(ctx context.Context, set *tabular.PictureSet, dir string, pages *mapped.Dir) (*packedPictures, error) {
	p, n := &packedPictures{pages: pages}, len(set.Files)*set.Encoding.Pixels()
	folder, name := filepath.Join(dir, "pictures"), "pictures"
	note := func(text string) { l.KeptNotes = append(l.KeptNotes, text) }
	if pages == nil && dir != "" {
		_, own := memory.Usage()
		err := os.MkdirAll(folder, 0o777)
		if err == nil {
			p.pages, err = mapped.New(folder, own+2*packedRoom)
		}
		if err == nil {
			p.pages.Watch()
		}
		if p.own = err == nil; err != nil {
			note(fmt.Sprintf("The decoded pictures are not kept for later runs: %v.", err))
		}
	}
	key := struct {
		Version               int
		SHA256                string
		Height, Width, Colors int
	}{packedVersion, set.SHA256, set.Encoding.Height, set.Encoding.Width, set.Encoding.Channels}
	var keeper *mapped.Keeper
	if dir != "" {
		keeper = p.pages.NewKeeper(folder, name, nil, key, func() (string, error) { return set.SHA256, nil })
	}
	if keeper != nil {
		keeper.Note, keeper.Warn = note, note
	}
	if file := keeper.Open(new(struct{})); file != nil {
		err := file.Read(mapped.Of(&p.pixels, n))
		if err == nil {
			keeper.Used()
			return p, nil
		}
		keeper.Unusable(err)
	}
	var err error
	if p.pixels, err = mapped.Make[byte](p.pages, n); err != nil {
		p.close()
		return nil, err
	}
	reader := picture.NewReader(*set.Encoding)
	defer reader.Close()
	if err := reader.ReadSet(ctx, set, p.pixels); err != nil {
		p.close()
		return nil, err
	}
	keeper.Write(struct{}{}, mapped.Of(&p.pixels, n))
	return p, nil
}

// open opens the pixels: a picture.Section.
func (p *packedPictures) open() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(p.pixels)), nil
}

// close frees the pixels.
func (p *packedPictures) close() {
	if p.own {
		_ = p.pages.Close() // the pixels are in the rows, or there was another error
	}
}
