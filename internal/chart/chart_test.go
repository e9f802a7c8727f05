package chart

import (
	"math"
	"strings"
	"testing"
)

func labels(s Scale) string {
	var texts []string
	for _, t := range s.Ticks {
		texts = append(texts, t.Label)
	}
	return strings.Join(texts, " ")
}

func TestScales(t *testing.T) {
	for _, c := range []struct {
		s    Scale
		want string
	}{
		{Linear(0, 1, false), "0 0.2 0.4 0.6 0.8 1.0"}, {Linear(0, 160, false), "0 50 100 150"}, {Linear(-3e-5, 3e-5, false), "-3e-05 -2e-05 -1e-05 0 1e-05 2e-05 3e-05"},
		{Linear(0.1, 0.25, true), "10% 15% 20% 25%"}, {Linear(0, 0, false), "0 0.2 0.4 0.6 0.8 1.0"}, {Linear(5, 5, false), "4.6 4.8 5.0 5.2 5.4"},
		{Linear(5, math.Nextafter(5, 6), false), "4.6 4.8 5.0 5.2 5.4"}, {Linear(1.25, math.Nextafter(1.25, 2), true), "120% 122% 124% 126% 128% 130%"},
		{logarithmic(1e-3, 0.5, false), "0.001 0.01 0.1 1"}, {logarithmic(1e-9, 1, true), "≤ 1e-9 1e-7 1e-5 0.001 0.1"}, {logarithmic(1, 1, false), "1 2 5 10"}, {logarithmic(0.02, 0.9, false), "0.01 0.02 0.05 0.1 0.2 0.5 1"},
		{logarithmic(300, 2000, false), "100 200 500 1000 2000 5000 1e4"}, {doubling(1, 128), "1 2 4 8 16 32 64 128"}, {doubling(1, 1), "1 2"},
	} {
		if got := labels(c.s); got != c.want {
			t.Errorf("ticks %q, want %q", got, c.want)
		}
		for _, tick := range c.s.Ticks {
			if tick.At < -1e-6 || tick.At > 1+1e-6 {
				t.Errorf("%q: the tick %s is at %v", c.want, tick.Label, tick.At)
			}
		}
	}
	s := logarithmic(1e-4, 1, false)
	for v, want := range map[float64]float64{1e-2: 0.5, 0: 0, -1: 0, 1: 1} {
		if got := s.Of(v); math.Abs(got-want) > 1e-12 {
			t.Errorf("the place of %v is %v, want %v", v, got, want)
		}
	}
}

// A chart draws its lines, bands, marks and levels, and leaves out missing values.
func TestDraw(t *testing.T) {
	nan := math.NaN()
	x := []float64{0, 1, 2, 3}
	c := &Chart{Lines: []Line{{Name: "a", Color: "c0"}, {Name: "b", Color: "c1", Marked: true}}, Levels: []Level{{"level", 2}},
		Views: []View{{Axis: "iteration", Curves: []Curve{{X: x, Y: []float64{0, nan, 4, 2}, Low: []float64{0, nan, 3, 1}, High: []float64{0, nan, 4, 3}}, {X: x, Y: []float64{1, 2, 3, nan}}}},
			{Axis: "seconds", Curves: []Curve{{X: []float64{0, 2, 4, 6}, Y: []float64{0, nan, 4, 2}}, {X: x, Y: []float64{1, 2, 3, nan}}}}}}
	d := c.Draw()
	a := d.Lines[0]
	if a.Path != "M0 1000M641 38.5L961.5 519.2" && strings.Count(a.Path, "M") != 2 {
		t.Errorf("path %s", a.Path)
	}
	if a.Last != "2" || d.Lines[1].Last != "3" || len(d.Lines[1].Marks) != 3 || !strings.HasSuffix(a.Band, "Z") || strings.Contains(a.Path+a.Band, "NaN") {
		t.Errorf("%+v", d.Lines)
	}
	if len(d.Levels) != 1 || d.Levels[0].Y < 400 || d.Levels[0].Y > 600 {
		t.Errorf("levels %+v", d.Levels)
	}
	data := c.Data()
	if data.Views[0].Curves[1].X != nil || data.Views[1].Curves[0].X == nil || data.Views[0].LogY == nil {
		t.Errorf("%+v", data)
	}
	if text, err := numbers(data.Views[0].Curves[0].Y).MarshalJSON(); err != nil || string(text) != "[0,null,4,2]" {
		t.Errorf("%s, %v", text, err)
	}
	c.Log = true
	if d := c.Draw(); d.Y[0].Label != "≤ 1" {
		t.Errorf("the axis begins at %q", d.Y[0].Label)
	}
	empty := &Chart{Lines: []Line{{}}, Views: []View{{Curves: []Curve{{}}}}}
	if d := empty.Draw(); d.Lines[0].Path != "" || empty.Switchable() {
		t.Errorf("%+v", d)
	}
}
