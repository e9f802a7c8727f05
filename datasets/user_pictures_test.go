package datasets

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// pictureFolder writes n pictures of each class of bars, PNG and JPEG in turns, and a CSV file with
// their paths, classes and groups.
func pictureFolder(t *testing.T, n, height, width int) (folder, table string) {
	t.Helper()
	dir, r := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	text := "path,kind,sex\n"
	for k, class := range []string{"across", "dark", "down"} {
		for i := range n {
			name, content := fmt.Sprintf("all/%s/%02d.png", class, i), []byte(nil)
			if img := datatest.Bars(r, []int{0, 2, 1}[k], height, width); i%2 == 0 {
				content = datatest.PNG(t, img)
			} else {
				name, content = strings.Replace(name, "png", "jpg", 1), datatest.JPEG(t, img)
			}
			datatest.Write(t, dir, name, content)
			text += fmt.Sprintf("%s,%s,%c\n", name, class, "fm"[i/2%2])
		}
	}
	return filepath.Join(dir, "all"), datatest.Write(t, dir, "rows.csv", []byte(text))
}

// pixelsOf returns the pixels and the class of each row of a table, by the row's number.
func pixelsOf(tables *tabular.Tables) map[int]string {
	all := map[int]string{}
	for _, p := range tables.Parts() {
		x := p.Features.(*matrix.Bytes)
		for k, i := range p.Source {
			all[i] = fmt.Sprint(p.Classes[tabular.ClassOf(p.Labels[k], len(p.Classes))], x.Data[k*x.Cols:(k+1)*x.Cols])
		}
	}
	return all
}

// A folder, a CSV file of the paths and an IDX file of the same pictures give the same rows.
func TestPicturesOfEveryForm(t *testing.T) {
	folder, table := pictureFolder(t, 8, 6, 8)
	load := func(o tabular.TableOptions) *tabular.Tables {
		t.Helper()
		tables := loaded(t, Pictures, o)
		return tables
	}
	inFolder := load(tabular.TableOptions{File: folder})
	if e := *inFolder.Preparation.Pictures; e != (tabular.PictureEncoding{Column: "picture", Height: 6, Width: 8, Channels: 1}) {
		t.Errorf("encoding %+v", e)
	}
	byTable := load(tabular.TableOptions{File: table, Picture: "path", Label: "kind", Groups: []string{"sex"}})
	want := pixelsOf(inFolder)
	if got := pixelsOf(byTable); fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 24 {
		t.Error("the CSV file gives other rows than the folder")
	}
	if g := byTable.Train.Groups; len(g) != 2 || g[0].Name != "sex=f" || len(g[0].Rows) == 0 {
		t.Errorf("groups %+v", g)
	}
	var pixels, labels []byte
	for i := range 24 {
		class, row, _ := strings.Cut(want[i], "[")
		labels = append(labels, byte(slices.Index(inFolder.Train.Classes, class)))
		for _, v := range strings.Fields(strings.TrimSuffix(row, "]")) {
			var p byte
			fmt.Sscan(v, &p)
			pixels = append(pixels, p)
		}
	}
	dir := t.TempDir()
	images := datatest.Write(t, dir, "train-images-idx3-ubyte.gz", datatest.Gzipped(datatest.IDX(pixels, 24, 6, 8)))
	datatest.Write(t, dir, "train-labels-idx1-ubyte", datatest.IDX(labels, 24))
	byIDX := load(tabular.TableOptions{File: images})
	for i, text := range pixelsOf(byIDX) {
		class, row, _ := strings.Cut(want[i], "[")
		if text != fmt.Sprint(slices.Index(inFolder.Train.Classes, class))+"["+row {
			t.Fatalf("row %d of the IDX file: %s, want %s", i, text, want[i])
		}
	}
	beside := load(tabular.TableOptions{File: images, JoinFile: table, Label: "kind", Size: tabular.PictureSize{Height: 3, Width: 2}, Color: tabular.ColorRGB})
	small := load(tabular.TableOptions{File: folder, Size: tabular.PictureSize{Height: 3, Width: 2}, Color: tabular.ColorRGB})
	if _, cols := small.Train.Features.Dims(); cols != 18 || fmt.Sprint(pixelsOf(beside)) != fmt.Sprint(pixelsOf(small)) {
		t.Error("resized pictures differ")
	}
}

// The folders train, val and test are the splits, and a test file may be a folder.
func TestPictureSplits(t *testing.T) {
	folder, _ := pictureFolder(t, 4, 4, 4)
	dir := t.TempDir()
	for _, split := range []string{"train", "val", "test"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, split), os.DirFS(folder)))
	}
	tables, err := LoadTable("", Pictures, tabular.TableOptions{File: dir})
	if err != nil || tables.Train.Rows() != 12 || tables.Validation.Rows() != 12 || tables.Test.Rows() != 12 {
		t.Fatalf("splits %+v, %v", tables, err)
	}
	if !bytes.Equal(tables.Train.Features.(*matrix.Bytes).Data, tables.Test.Features.(*matrix.Bytes).Data) {
		t.Error("equal pictures differ by split")
	}
	tables, err = LoadTable("", Pictures, tabular.TableOptions{File: folder, TestFile: filepath.Join(dir, "val"), Split: tabular.Split{Train: 50, Validation: 50}})
	if err != nil || tables.Train.Rows() != 6 || tables.Test.Rows() != 12 {
		t.Errorf("a folder as test file: %+v, %v", tables, err)
	}
}

// Bad input is an error of one line that names the file, and for a CSV file the line.
func TestBadPictures(t *testing.T) {
	folder, table := pictureFolder(t, 4, 4, 4)
	r := rand.New(rand.NewPCG(1, 1))
	with := func(name string, content []byte) string { // the folder with one more file
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(folder)))
		datatest.Write(t, dir, name, content)
		return dir
	}
	text := require.Value(os.ReadFile(table))(t)
	lines := 0
	csv := func(line string) tabular.TableOptions {
		lines++
		path := datatest.Write(t, filepath.Dir(table), fmt.Sprint("bad", lines, ".csv"), append(slices.Clone(text), line...))
		return tabular.TableOptions{File: path, Picture: "path", Label: "kind"}
	}
	photo := datatest.JPEG(t, datatest.Bars(r, 0, 4, 4))
	one := t.TempDir()
	datatest.Write(t, one, "only/1.jpg", photo)
	flat := t.TempDir()
	datatest.Write(t, flat, "1.jpg", photo)
	idx := func(name string, content []byte) tabular.TableOptions {
		return tabular.TableOptions{File: datatest.Write(t, t.TempDir(), name, content), JoinFile: table, Label: "kind"}
	}
	pixels := make([]byte, 12*16)
	for name, c := range map[string]struct {
		options tabular.TableOptions
		want    error
		text    string
	}{
		"one class":       {tabular.TableOptions{File: one}, dataerr.ErrClass, one + ": invalid class selection: there is one class, only"},
		"no pictures":     {tabular.TableOptions{File: t.TempDir()}, dataerr.ErrTruncated, "the folder has no PNG or JPEG pictures"},
		"no classes":      {tabular.TableOptions{File: flat}, dataerr.ErrClass, "the pictures are not in folders of classes"},
		"truncated":       {tabular.TableOptions{File: with("across/x.jpg", photo[:60])}, dataerr.ErrTruncated, filepath.Join("across", "x.jpg") + ": truncated"},
		"text":            {tabular.TableOptions{File: with("across/x.png", []byte("hello"))}, dataerr.ErrFormat, "x.png: wrong format: the file is neither PNG nor JPEG"},
		"sizes":           {tabular.TableOptions{File: with("dark/x.png", datatest.PNG(t, datatest.Bars(r, 0, 5, 4)))}, dataerr.ErrFormat, "x.png: wrong format: 5 x 4 pixels, and "},
		"no file":         {csv("gone.png,dark,f\n"), os.ErrNotExist, ".csv: line 14, column 1: " + filepath.Join(filepath.Dir(table), "gone.png")},
		"no path":         {csv(",dark,f\n"), dataerr.ErrMissing, ".csv: line 14, column 1: path: missing value"},
		"no column":       {tabular.TableOptions{File: table, Label: "kind"}, dataerr.ErrColumn, "no column \"picture\""},
		"csv of a folder": {tabular.TableOptions{File: folder}, dataerr.ErrFormat, "for a folder of pictures: --dataset pictures"},
		"magic":           {idx("x.idx", append([]byte{0, 0, 13, 3}, make([]byte, 40)...)), dataerr.ErrFormat, "x.idx: byte 0: wrong format: magic number 00 00 0d 03"},
		"size":            {idx("x.idx", datatest.IDX(nil, 1<<24, 1<<24, 1<<16)), dataerr.ErrFormat, "x.idx: byte 12: wrong format: dimension 2 is 65536"},
		"short":           {idx("x.idx", datatest.IDX(pixels[:50], 12, 4, 4)), dataerr.ErrTruncated, "x.idx: byte 66: truncated: the dimensions need 208 bytes, the file has 66"},
		"long":            {idx("x.idx", datatest.IDX(append(pixels, 1), 12, 4, 4)), dataerr.ErrTrailing, "x.idx: byte 208: trailing bytes"},
		"rows":            {idx("x.idx", datatest.IDX(pixels[:11*16], 11, 4, 4)), dataerr.ErrMismatch, "the table has 12 rows, but "},
	} {
		dataset := Pictures
		if name == "csv of a folder" {
			dataset, c.options.Label = CSV, "kind"
		}
		_, err := LoadTable("", dataset, c.options)
		t.Run(name, func(t *testing.T) { datatest.CheckError(t, err, c.want, c.text) })
	}
	tables, err := LoadTable("", Pictures, tabular.TableOptions{File: with("dark/notes.txt", nil)})
	if err != nil || !strings.Contains(strings.Join(tables.Notes, " "), filepath.Join("dark", "notes.txt")) {
		t.Errorf("a file that is no picture: %v", err)
	}
}
