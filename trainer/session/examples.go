package session

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strconv"
	"strings"

	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/rundir"
)

// DefaultExamples is the default of Files.Examples.
const DefaultExamples = 5

// Limits of the wrong decisions in details.json.
const (
	mostClasses = 12 // classes with examples, those with the most wrong decisions
	mostColumns = 20 // columns of a row, after the attributes
)

// examples returns the wrong decisions of scores with the largest margins on a split, at most most
// of each class. examples returns nil if the scores decide nothing.
func (a *assembly) examples(s *split, scores []float64, most int) (*rundir.Examples, error) {
	decisions := s.decisions(scores)
	if decisions == nil || most <= 0 {
		return nil, nil
	}
	place := map[int]int{} // position of a label in the classes
	for k, c := range s.classes {
		place[c.Label] = k
	}
	list, outputs := make([]worst, len(s.classes)), len(scores)/s.len()
	for i, y := range s.labels {
		k := place[y]
		list[k].rows++
		if d := decisions[i]; d != k {
			list[k].add(i, margin(scores[i*outputs:][:outputs], k, d), most)
		}
	}
	var order []int
	for k := range list {
		order = append(order, k)
	}
	if len(order) > mostClasses {
		slices.SortStableFunc(order, func(j, k int) int { return cmp.Compare(list[k].wrong, list[j].wrong) })
		order = order[:mostClasses]
		slices.Sort(order)
	}
	row := a.newExampleRows(s)
	e := &rundir.Examples{Split: s.name, Columns: row.columns}
	for _, k := range order {
		own := rundir.ClassExample{Class: s.classes[k].Name, Rows: list[k].rows, Wrong: list[k].wrong}
		for _, w := range list[k].list {
			score := w.margin
			if outputs == 1 {
				score = scores[w.row]
			}
			x := rundir.Example{Row: s.number(w.row), Decided: s.classes[decisions[w.row]].Name, Score: score}
			if err := row.fill(&x, w.row); err != nil {
				return nil, fmt.Errorf("session: the example of row %d: %w", w.row+1, err)
			}
			own.List = append(own.List, x)
		}
		e.Classes = append(e.Classes, own)
	}
	return e, nil
}

// margin returns how far the scores of a row are from a decision for class k, from 0. d is the
// decided class.
func margin(scores []float64, k, d int) float64 {
	if len(scores) == 1 {
		return math.Abs(scores[0])
	}
	return scores[d] - scores[k]
}

// worst collects the wrong decisions of a class with the largest margins.
type worst struct {
	rows, wrong int
	list        []wrongRow // the largest margin first
}

type wrongRow struct {
	row    int
	margin float64
}

func (w *worst) add(row int, margin float64, most int) {
	w.wrong++
	at, _ := slices.BinarySearchFunc(w.list, margin, func(r wrongRow, m float64) int {
		if r.margin >= m { // of equal margins the first row comes first
			return -1
		}
		return 1
	})
	if at == most {
		return
	}
	w.list = slices.Insert(w.list, at, wrongRow{row, margin})
	w.list = w.list[:min(len(w.list), most)]
}

// number returns the number of a row in its source, from 1.
func (r rows) number(i int) int {
	if r.source != nil {
		return r.source[i] + 1
	}
	return i + 1
}

// exampleRows shows the rows of a split as texts or as pictures.
type exampleRows struct {
	*split
	shape         picture.Shape
	center, scale []float64 // of the first layer; nil: none
	preparation   *tabular.Preparation
	names         []string // of the features
	columns       []string // attributes first; nil: pictures
	room          []float64
}

func (a *assembly) newExampleRows(s *split) *exampleRows {
	d := a.data.description
	r := &exampleRows{split: s, center: a.data.center, scale: a.data.scale, preparation: d.Preparation, names: d.FeatureNames}
	if _, bytes := s.data.(matrix.EightBit); bytes && d.Preparation == nil && a.data.label == nil && a.data.shape.Pixels() == s.features() {
		r.shape = a.data.shape
		return r
	}
	r.room = make([]float64, s.features())
	r.columns = []string{}
	for _, a := range s.attributes {
		r.columns = append(r.columns, a.Name)
	}
	if names := d.FeatureNames; names == nil && d.Preparation == nil && s.features() > mostColumns {
		return r // the features have no names, and there are too many of them
	}
	for _, name := range r.titles() {
		if len(r.columns) < len(s.attributes)+mostColumns && !slices.Contains(r.columns, name) {
			r.columns = append(r.columns, name)
		}
	}
	return r
}

// titles returns the names of the columns. Without a preparation of columns, features with names
// such as "job=nurse" are a column.
func (r *exampleRows) titles() (list []string) {
	if r.preparation != nil && r.preparation.Encodings != nil {
		return r.preparation.Titles()
	}
	for j := range r.features() {
		name, _, _ := strings.Cut(r.feature(j), "=")
		if len(list) == 0 || list[len(list)-1] != name {
			list = append(list, name)
		}
	}
	return list
}

// feature returns the name of a feature.
func (r *exampleRows) feature(j int) string {
	if j < len(r.names) {
		return r.names[j]
	}
	return "feature " + strconv.Itoa(j+1)
}

// fill sets the texts or the picture of row i.
func (r *exampleRows) fill(x *rundir.Example, i int) (err error) {
	if r.columns == nil {
		x.Picture, err = r.picture(i)
		return err
	}
	texts := map[string]string{}
	if err := r.readRow(r.room, i); err != nil {
		return err
	}
	if r.scale != nil { // the first layer standardises the columns
		for j := range r.room {
			r.room[j] = (r.room[j] - r.center[j]) * r.scale[j]
		}
	}
	if r.preparation != nil && r.preparation.Encodings != nil {
		decoded := r.preparation.Decode(r.room)
		for k, name := range r.preparation.Titles() {
			texts[name] = decoded[k]
		}
	} else {
		for j, v := range r.room {
			name, value, indicator := strings.Cut(r.feature(j), "=")
			switch {
			case indicator && v == 1:
				texts[name] = value
			case !indicator:
				texts[name] = strconv.FormatFloat(v, 'g', 6, 64)
			}
		}
	}
	for _, a := range r.attributes {
		if v := a.Of[i]; v >= 0 {
			texts[a.Name] = a.Values[v]
		}
	}
	for _, name := range r.columns {
		x.Values = append(x.Values, shortText(texts[name]))
	}
	return nil
}

// shortText cuts a long text of a row.
func shortText(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-3]) + "..."
	}
	return text
}

// pixels returns the 8-bit values of row i, which another process may have.
func (r *exampleRows) pixels(i int) ([]uint8, error) {
	data, bytes := r.data.(matrix.EightBit), make([]uint8, r.features())
	if r.fetch == nil {
		return data.ByteRow(i, bytes), nil
	}
	row := make([]float64, len(bytes))
	if err := r.readRow(row, i); err != nil {
		return nil, err
	}
	for j, v := range row {
		bytes[j] = uint8(math.Round(v / data.ByteScale()))
	}
	return bytes, nil
}

// picture returns row i as a PNG file. The pixels of a picture lie channel by channel.
func (r *exampleRows) picture(i int) ([]byte, error) {
	pixels, err := r.pixels(i)
	if err != nil {
		return nil, err
	}
	w, h := r.shape.Width, r.shape.Height
	var img image.Image = &image.Gray{Pix: pixels[:w*h], Stride: w, Rect: image.Rect(0, 0, w, h)}
	if r.shape.Channels == 3 {
		rgb := image.NewRGBA(image.Rect(0, 0, w, h))
		for p := range w * h {
			rgb.SetRGBA(p%w, p/w, color.RGBA{R: pixels[p], G: pixels[w*h+p], B: pixels[2*w*h+p], A: 0xFF})
		}
		img = rgb
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
