package datasets

import (
	"cmp"
	"context"
	"fmt"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/loader"
	"ppal/internal/recordio"
)

// Pictures is the name of the data set of a user's own pictures.
const Pictures = "pictures"

// userPictures describes the pictures in a user's folder, in the files that a table names, or in a
// file in the IDX format.
func userPictures() Dataset {
	return Dataset{
		Name:        Pictures,
		Description: "your own pictures (PNG, JPEG, IDX): a folder for each class, a CSV file with the pictures' paths, or an IDX file",
		Own:         true,
		table: func(ctx context.Context, _ string, opts tabular.TableOptions) (*loader.Source, error) {
			opts.Picture, opts.Color = cmp.Or(opts.Picture, recordio.FolderPicture), cmp.Or(opts.Color, tabular.ColorAuto)
			folder, err := loader.CheckFolder(opts.File)
			if err == nil {
				_, err = loader.CheckFolder(opts.TestFile)
			}
			if err != nil {
				return nil, err
			}
			if folder != nil && folder.Splits && opts.SplitColumn == "" && opts.TestFile == "" {
				opts.SplitColumn = recordio.FolderSplit
			}
			return loader.UserCSV(ctx, opts)
		},
	}
}

// HasPictures reports whether the path names pictures and not a table: a folder, or a file in the
// IDX format.
func HasPictures(path string) bool { return recordio.IsFolder(path) || recordio.IsIDX(path) }

// checkPictures returns an error if an option does not suit the user's own pictures, or if File is
// a folder and the data set is another one.
func checkPictures(o *tabular.TableOptions, d Dataset) error {
	own := d.Name == Pictures
	for _, option := range []struct {
		name       string
		given, has bool
	}{
		{"a column of pictures", o.Picture != "", own},
		{"the size of pictures", o.Size != tabular.PictureSize{}, own},
		{"the colours of pictures", o.Color != "", own},
		{"a list of features", o.Features != nil, !own},
		{"columns to ignore", o.Ignore != nil, !own},
		{"a choice for dates", o.Dates != "" && o.Dates != tabular.DatesRefused, !own},
		{"the removal of sensitive columns", o.DropSensitive, !own},
	} {
		if option.given && !option.has {
			return fmt.Errorf("datasets: %w: %s does not take %s", dataerr.ErrOption, d.Name, option.name)
		}
	}
	if d.Own && !own && recordio.IsFolder(o.File) {
		return &dataerr.FileError{Path: o.File, Offset: -1, Err: fmt.Errorf("%w: it is a directory, want a file", dataerr.ErrFormat), Advice: "for a folder of pictures: --dataset pictures"}
	}
	return nil
}

// readPictures reads the pixels of a table's pictures into memory.
func readPictures(ctx context.Context, t *tabular.Tables) error {
	reader := picture.NewReader(*t.Pictures.Encoding)
	defer reader.Close()
	for _, part := range t.Parts() {
		rows := part.Features.(*tabular.PictureRows)
		n, cols := rows.Dims()
		own := &tabular.PictureSet{Fail: func(file int, err error) error { return t.Pictures.Fail(rows.Of[file], err) }}
		for _, i := range rows.Of {
			own.Files = append(own.Files, t.Pictures.Files[i])
		}
		x := matrix.NewBytes(n, cols, picture.PixelScale)
		if err := reader.ReadSet(ctx, own, x.Data); err != nil {
			return err
		}
		part.Features = x
	}
	return nil
}
