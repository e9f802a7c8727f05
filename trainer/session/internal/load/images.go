package load

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/models"
	"ppal/trainer/session/results"
)

// ReadImages reads the chosen pictures of a data set and checks its files.
func ReadImages(ctx context.Context, c Choice, kind models.NormalizationKind, on Request) (*Data, error) {
	return verified(ctx, c.Dir, c.Dataset, nil, func(report func() (*datasets.Report, error)) (*Data, error) {
		var notes []string
		train, test, close, err := openImages(c, on, report, func(text string) { notes = append(notes, text) })
		if err != nil {
			return nil, err
		}
		defer close()
		var sums []results.DataFile
		if builtIn(c.Dataset) {
			if sums, err = sumRows(c.Dataset, train, test); err != nil {
				return nil, err
			}
		}
		l, err := readOpened(train, test, c, kind, on)
		if err == nil {
			l.Description.Data, l.KeptNotes = sums, notes
		}
		return l, err
	})
}

// Opened reads the chosen pictures of sets that the caller has opened. files identifies the
// pictures.
func Opened(train, test *picture.Pictures, files []results.DataFile, c Choice, kind models.NormalizationKind, on Request) (*Data, error) {
	l, err := readOpened(train, test, c, kind, on)
	if err == nil {
		l.Dataset, l.Description.Data = c.Dataset, slices.Clone(files)
	}
	return l, err
}

// readOpened reads the pixels of opened pictures in the form of the run, and normalises them.
func readOpened(train, test *picture.Pictures, c Choice, kind models.NormalizationKind, on Request) (*Data, error) {
	a, err := readPictures(train, test, c, placeOf(on))
	if err != nil {
		return nil, err
	}
	moments := func() (center []float64, deviation float64) { return a.Center, a.Deviation }
	l, err := loadPictures(a.Train, a.Validation, &a.Test, moments, kind)
	if err != nil {
		return nil, err
	}
	l.Shape = train.Shape
	l.augment(on.Augment)
	return l, l.addEarlier(on.Needs.Files)
}

// placeOf returns the place of the pixels of a run. A process that shares the rows with others
// stores its own rows only, and packs them later. But if the processes draw batches from all rows,
// or if the rows lie in files, each process stores all rows.
func placeOf(on Request) Place {
	p := Place{CPU: on.CPU, Packs: on.packs, Pages: on.Pages}
	copies := on.Augment.Copies() > 1
	if copies { // the device packs the copies
		p.CPU = nil
	}
	if on.Share != nil && on.Pages == nil && !on.Batches && !copies {
		p.Own = on.Share.Rows
	}
	return p
}

// PicturesAtHand returns the rows of pictures in memory. validation may be nil.
func PicturesAtHand(train, validation, test *picture.Selection, kind models.NormalizationKind, on Request) (*Data, error) {
	first, last := Selected(train), Selected(test)
	var held *Part
	if validation != nil {
		own := Selected(validation)
		held = &own
	}
	moments := func() (center []float64, deviation float64) { return matrix.Moments(train.Pixels) }
	l, err := loadPictures(first, held, &last, moments, kind)
	if err != nil {
		return nil, err
	}
	return l, l.addEarlier(on.Needs.Files)
}

// Selected returns a part with the pixels of a selection.
func Selected(s *picture.Selection) Part {
	own := *s.Pixels // the copy shares the values
	return Part{Selection: *s, Pixels: &own}
}

// loadPictures returns the rows of pictures, normalised with the moments of the training rows.
// validation may be nil.
func loadPictures(train Part, validation, test *Part, moments func() ([]float64, float64), kind models.NormalizationKind) (*Data, error) {
	n, err := normalization(kind, moments)
	if err != nil {
		return nil, err
	}
	l := &Data{Pictures: train.Source != nil}
	l.normalized(n)
	for name, part := range InSplits(&train, validation, test) {
		l.Splits = append(l.Splits, &Split{Name: name, Rows: ImageRows(*part, n)})
	}
	return l, nil
}

// normalized sets the normalisation of pictures.
func (l *Data) normalized(n models.Normalization) {
	l.Normalization, l.Center = n, scaledCenter(n)
	l.Description.Normalization = string(n.Kind)
	if n.Kind == models.NormalizeStandardize {
		l.Description.Normalization = fmt.Sprintf("%s (one deviation: %.6g)", n.Kind, n.Deviation)
	}
}

// sumRows returns the checksums of pictures that do not come from a file.
func sumRows(dataset string, parts ...*picture.Pictures) ([]results.DataFile, error) {
	var sums []results.DataFile
	for i, name := range []results.Split{results.Training, results.Test} {
		set, err := parts[i].Images()
		if err != nil {
			return nil, err
		}
		sums = append(sums, results.DataFile{Name: fmt.Sprintf("%s %s", dataset, name),
			Bytes: int64(len(set.Pixels.Data) + len(set.Labels)), SHA256: set.SHA256()})
	}
	return sums, nil
}

// ImageRows returns the rows of pictures. The scale of the pixels becomes the scale of the
// normalisation.
func ImageRows(s Part, n models.Normalization) Rows {
	if n.Kind == models.NormalizeStandardize {
		s.Pixels.SetScale(s.Pixels.ByteScale() / n.Deviation)
	}
	r := Rows{Data: s.Pixels, Labels: make([]int, s.Rows()), Source: s.Source}
	for k, name := range s.Names {
		r.Classes = append(r.Classes, Class{Name: name, Label: k, Number: s.Classes[k]})
		class := make([]int, 0, s.Offsets[k+1]-s.Offsets[k])
		for i := s.Offsets[k]; i < s.Offsets[k+1]; i++ {
			class, r.Labels[i] = append(class, i), k
		}
		r.strata = append(r.strata, class)
	}
	return r
}

// ErrEqualRows is the error of training rows that cannot be standardised, because all are equal.
var ErrEqualRows = errors.New("all training rows are equal")

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
			return n, ErrEqualRows
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
