package loader

import (
	"context"
	"fmt"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// pictured makes features from the pictures that a column names. The methods of a nil *pictured do
// nothing.
type pictured struct {
	ctx    context.Context // ends the reading
	set    *tabular.PictureSet
	size   tabular.PictureSize
	color  string
	tables []pictureTable
	by     *tabular.Preparation
}

// pictureTable is a file that names pictures.
type pictureTable struct {
	name   string
	layout tabular.Layout
	sheet  *columnar.Sheet
	first  int // index of its first picture in the set
	idx    bool
}

var _ features = (*pictured)(nil)

// newPictured returns the features of the pictures that the column opts.Picture names.
func newPictured(ctx context.Context, opts *tabular.TableOptions) *pictured {
	p := &pictured{ctx: ctx, size: opts.Size, color: opts.Color}
	p.set = &tabular.PictureSet{Encoding: &tabular.PictureEncoding{Column: opts.Picture}, Fail: p.fail}
	return p
}

// take appends the pictures of a sheet, which is read with the layout.
func (p *pictured) take(s *columnar.Sheet, layout tabular.Layout) error {
	if p == nil {
		return nil
	}
	t := pictureTable{name: s.Name, layout: layout, sheet: s, first: len(p.set.Files), idx: recordio.IsIDX(s.Name)}
	p.tables = append(p.tables, t)
	column := s.Column(p.set.Encoding.Column)
	for i := range s.Rows {
		file, err := picture.At(t.name, t.idx, column.Text(i))
		if err != nil {
			return p.fail(t.first+i, err)
		}
		p.set.Files = append(p.set.Files, file)
	}
	return nil
}

// fail adds the place of the path of a picture in its table to an error.
func (p *pictured) fail(file int, err error) error {
	at := slices.IndexFunc(p.tables, func(t pictureTable) bool { return file < t.first+t.sheet.Rows })
	t := p.tables[at]
	if t.idx || recordio.IsFolder(t.name) {
		return err
	}
	placed, notFound := t.place(t.sheet.Number(file-t.first), p.set.Encoding.Column, picture.Named(err))
	if notFound != nil {
		return err
	}
	return placed
}

// place adds the place of a column in the row with the given number to an error. It reads the table
// again up to the row.
func (t *pictureTable) place(number int, column string, err error) (placed, failed error) {
	f, failed := recordio.OpenInput(context.Background(), t.name)
	if failed != nil {
		return nil, failed
	}
	defer f.Close()
	text, _, failed := recordio.OpenDelimited(f, t.name, t.layout)
	if failed != nil {
		return nil, failed
	}
	places := recordio.HeaderPlaces{Header: text.Header, Repeated: t.layout.Repeated}
	field, failed := places.Column(column)
	records := text.Records()
	for row := 0; failed == nil && placed == nil; {
		var c recordio.Chunk
		if c, failed = text.Next(nil); failed == nil {
			failed = records.Each(c, func() error {
				if row == number {
					placed = records.Fail(field, err)
				}
				row++
				return nil
			})
		}
	}
	return placed, failed
}

// fit implements features: it reads the checksums and sizes of all files.
func (p *pictured) fit([]int) (notes []string, err error) {
	if err := picture.Inspect(p.ctx, p.set, p.size, p.color); err != nil {
		return nil, err
	}
	e, colours := p.set.Encoding, "grey"
	if e.Channels == 3 {
		colours = "in colour"
	}
	how := "in their own size"
	if e.Resize {
		how = "resized by area averaging"
	}
	notes = append(notes, fmt.Sprintf("%d pictures of %d x %d pixels, %s, %s.", len(p.set.Files), e.Height, e.Width, colours, how))
	for _, t := range p.tables {
		if !recordio.IsFolder(t.name) {
			continue
		}
		folder, err := recordio.ReadFolder(t.name)
		if err != nil {
			return nil, err
		}
		if len(folder.LeftOut) > 0 {
			notes = append(notes, fmt.Sprintf("%s: these files are left out, because they are not PNG or JPEG pictures in the folder of a class: %s.", t.name, textvalue.Listed(folder.LeftOut, 5)))
		}
	}
	return notes, nil
}

// columns implements features: pixels have no names.
func (p *pictured) columns() []string { return nil }

// Take implements features.
func (p *pictured) Take(rows []int) (matrix.Matrix, error) {
	return &tabular.PictureRows{Set: p.set, Of: rows}, nil
}

// Preparation implements features.
func (p *pictured) Preparation() *tabular.Preparation { return p.by }

// pictures returns the pictures of all rows; nil for nil.
func (p *pictured) pictures() *tabular.PictureSet {
	if p == nil {
		return nil
	}
	return p.set
}

// CheckFolder lists the pictures of a folder. It returns an error for a folder that has no pictures
// for the training, or too few classes. table is the path of a folder, or of another table: nil.
func CheckFolder(table string) (*recordio.Folder, error) {
	if !recordio.IsFolder(table) {
		return nil, nil
	}
	f, err := recordio.ReadFolder(table)
	wrong := func(kind error, text, advice string) (*recordio.Folder, error) {
		return nil, &dataerr.FileError{Path: table, Offset: -1, Err: fmt.Errorf("%w: %s", kind, text), Advice: advice}
	}
	const advice = "make a folder for each class, or name the pictures in a CSV file (--picture COLUMN)"
	switch {
	case err != nil:
		return nil, err
	case len(f.Files) == 0:
		return wrong(dataerr.ErrTruncated, "the folder has no PNG or JPEG pictures", advice)
	case f.Flat:
		return wrong(dataerr.ErrClass, "the pictures are not in folders of classes", advice)
	case len(f.Classes) == 1:
		return wrong(dataerr.ErrClass, "there is one class, "+f.Classes[0]+", want two or more", advice)
	}
	return f, nil
}
