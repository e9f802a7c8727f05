package measure

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

	"ppal/constraints"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/trainer/session/results"
)

// Limits of the wrong decisions in details.json.
const (
	mostClasses = 12 // classes with examples, those with the most wrong decisions
	mostColumns = 20 // columns of a row, after the attributes
)

// Examples returns the wrong decisions with the largest margins, at most most of each class; nil if
// most is not positive.
func (d *Decided) Examples(r *Display, most int) (*results.Examples, error) {
	if d == nil || most <= 0 {
		return nil, nil
	}
	list, outputs := make([]worst, len(d.Classes)), len(d.Scores)/len(d.Labels)
	for i, k := range d.Labels {
		list[k].rows++
		if other := d.Decisions[i]; other != k {
			list[k].add(i, margin(d.Scores[i*outputs:][:outputs], k, other), most)
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
	r.choose()
	e := &results.Examples{Split: d.Split, Columns: r.columns}
	for _, k := range order {
		own := results.ClassExample{Class: d.Classes[k], Rows: list[k].rows, Wrong: list[k].wrong}
		for _, w := range list[k].list {
			score := w.margin
			if outputs == 1 {
				score = d.Scores[w.row]
			}
			x := results.Example{Row: r.number(w.row), Decided: d.Classes[d.Decisions[w.row]], Score: score}
			if err := r.fill(&x, w.row); err != nil {
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

// Display shows the rows of a split as texts or as pictures.
type Display struct {
	Source     []int // each row's number in its files, from 0; nil: not known
	Attributes []constraints.Attribute
	// Features is the number of features, and Read writes the features of row i, as trained.
	Features int
	Read     func(features []float64, i int) error
	// Center and Scale belong to the first layer; nil: none. Names are the names of the features.
	Center, Scale []float64
	Preparation   *tabular.Preparation // nil: none
	Names         []string
	// Shape is the shape of the pictures, and Pixels returns their 8-bit values, channel by
	// channel; nil: the rows are not pictures.
	Shape  picture.Shape
	Pixels func(i int) ([]uint8, error)

	columns []string // attributes first; nil: pictures
	buffer  []float64
}

// number returns the number of a row in its source, from 1.
func (r *Display) number(i int) int {
	if r.Source != nil {
		return r.Source[i] + 1
	}
	return i + 1
}

// choose chooses the columns.
func (r *Display) choose() {
	if r.Pixels != nil {
		return
	}
	r.buffer, r.columns = make([]float64, r.Features), []string{}
	for _, a := range r.Attributes {
		r.columns = append(r.columns, a.Name)
	}
	if r.Names == nil && r.Preparation == nil && r.Features > mostColumns {
		return // the features have no names, and there are too many of them
	}
	for _, name := range r.titles() {
		if len(r.columns) < len(r.Attributes)+mostColumns && !slices.Contains(r.columns, name) {
			r.columns = append(r.columns, name)
		}
	}
}

// titles returns the names of the columns. Without a preparation of columns, features with names
// such as "job=nurse" are a column.
func (r *Display) titles() (list []string) {
	if r.Preparation != nil && r.Preparation.Encodings != nil {
		return r.Preparation.Titles()
	}
	for j := range r.Features {
		name, _, _ := strings.Cut(r.feature(j), "=")
		if len(list) == 0 || list[len(list)-1] != name {
			list = append(list, name)
		}
	}
	return list
}

// feature returns the name of a feature.
func (r *Display) feature(j int) string {
	if j < len(r.Names) {
		return r.Names[j]
	}
	return "feature " + strconv.Itoa(j+1)
}

// fill sets the texts or the picture of row i.
func (r *Display) fill(x *results.Example, i int) (err error) {
	if r.Pixels != nil {
		x.Picture, err = r.picture(i)
		return err
	}
	texts := map[string]string{}
	if err := r.Read(r.buffer, i); err != nil {
		return err
	}
	if r.Scale != nil { // the first layer standardises the columns
		for j := range r.buffer {
			r.buffer[j] = tabular.Restored((r.buffer[j]-r.Center[j])*r.Scale[j], r.Center[j]*r.Scale[j])
		}
	}
	if r.Preparation != nil && r.Preparation.Encodings != nil {
		decoded := r.Preparation.Decode(r.buffer)
		for k, name := range r.Preparation.Titles() {
			texts[name] = decoded[k]
		}
	} else {
		for j, v := range r.buffer {
			name, value, indicator := strings.Cut(r.feature(j), "=")
			switch {
			case indicator && v == 1:
				texts[name] = value
			case !indicator:
				texts[name] = strconv.FormatFloat(v, 'g', 6, 64)
			}
		}
	}
	for _, a := range r.Attributes {
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

// picture returns row i as a PNG file. The pixels of a picture lie channel by channel.
func (r *Display) picture(i int) ([]byte, error) {
	pixels, err := r.Pixels(i)
	if err != nil {
		return nil, err
	}
	w, h := r.Shape.Width, r.Shape.Height
	var img image.Image = &image.Gray{Pix: pixels[:w*h], Stride: w, Rect: image.Rect(0, 0, w, h)}
	if r.Shape.Channels == 3 {
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
