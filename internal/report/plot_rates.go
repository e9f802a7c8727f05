package report

import (
	"fmt"
	"slices"

	"ppal/internal/chart"
	"ppal/trainer/session/results"
)

// Rates are the rates of decisions on the splits of a run.
type Rates struct {
	Title  string
	Splits []SplitRates
}

// SplitRates are the rates and the ROC curve of one split.
type SplitRates struct {
	Split   string // train, validation or test
	Word    string // training, validation or test
	Trained bool   // the split holds training rows
	Table   *results.RateTable
	ROC     []results.ROCPoint // nil: none
}

// The file names of the pictures of rates.
const (
	GroupRatesFile = "rates.svg"
	ROCFile        = "roc.svg"
)

// mostGroups is the largest number of groups in a chart of bars.
const mostGroups = 12

// WriteRatePlots writes the pictures of the rates into the folder dir, which it creates: rates.svg
// with the bars, and roc.svg with the ROC curves if there are curves. It returns the names of the
// files.
func WriteRatePlots(dir string, r Rates) ([]string, error) {
	f := &folder{dir: dir}
	p := &chart.BarPicture{Head: r.Title, Charts: r.Bars()}
	for _, s := range r.Splits {
		name := s.Word + " rows"
		if !s.Trained {
			name += ", 95% interval"
		}
		p.Splits = append(p.Splits, chart.Bar{Split: s.Split, Word: name})
	}
	if err := f.write(GroupRatesFile, p); err != nil {
		return f.names, err
	}
	if c := r.ROC(); c != nil {
		if err := f.write(ROCFile, &chart.Picture{Head: r.Title, Charts: []*chart.Chart{c}}); err != nil {
			return f.names, err
		}
	}
	return f.names, nil
}

// Bars returns the charts of the rates, with a bar for each group and split, and the interval on
// held-out rows. With two classes, there is a chart each for the positive rate, the true and the
// false positive rate and the error; else for the recall and the precision of the classes, the
// error of the groups, and the rates of groups under a bound.
func (r *Rates) Bars() (list []*chart.Bars) {
	first := r.Splits[0].Table
	groups := first.Shown(mostGroups)
	some := ""
	if len(groups) < len(first.ByGroup) {
		some = fmt.Sprintf(" The chart shows %d of %d groups: those with the largest and smallest rates under a bound, and those with the most rows.",
			len(groups), len(first.ByGroup))
	}
	byGroup := func(name, title, note string) {
		c := &chart.Bars{Title: title, Note: note + some}
		r.add(c, "all rows", func(t *results.RateTable) (results.Rate, results.Extreme, bool) {
			v, ok := t.Overall[name]
			return v, "", ok
		})
		for _, g := range groups {
			r.add(c, first.ByGroup[g].Group, func(t *results.RateTable) (results.Rate, results.Extreme, bool) {
				if g >= len(t.ByGroup) {
					return results.Rate{}, "", false
				}
				v, ok := t.ByGroup[g].Rates[name]
				return v, t.ByGroup[g].Extremes[name], ok
			})
		}
		list = append(list, c)
	}
	if len(first.Classes) == 2 {
		positive := first.Classes[1]
		byGroup(results.PositiveRate, "Positive decisions", "The share of the rows that the model decides as "+positive+" (positive_rate).")
		byGroup(results.TruePositiveRate, "True positive rate", "The same share of the rows of the class "+positive+" (tpr). The others are missed.")
		byGroup(results.FalsePositiveRate, "False alarms", "The same share of the rows of the class "+first.Classes[0]+": the false positive rate (fpr).")
		byGroup(results.ErrorRate, "Error", "The share of the rows with a wrong decision.")
		return list
	}
	for _, q := range []struct {
		title, note string
		named       func(string) string
	}{
		{"Recall", "The share of the rows of each class that the model decides correctly.", results.RecallOf},
		{"Precision", "The share of the decisions for each class that are correct.", results.PrecisionOf},
	} {
		c := &chart.Bars{Title: q.title, Note: q.note}
		for _, class := range first.Classes[:min(len(first.Classes), 2*mostGroups)] {
			r.add(c, class, func(t *results.RateTable) (results.Rate, results.Extreme, bool) {
				v, ok := t.Overall[q.named(class)]
				return v, "", ok
			})
		}
		list = append(list, c)
	}
	if len(groups) > 0 {
		byGroup(results.ErrorRate, "Error by group", "The share of the rows with a wrong decision.")
	}
	for _, name := range first.Order()[1:] { // the rates of groups under a bound
		if slices.ContainsFunc(first.ByGroup, func(g results.GroupRates) bool { return g.Extremes[name] != "" }) {
			byGroup(name, name+" by group", "")
		}
	}
	return list
}

// add adds a group with a bar for each split.
func (r *Rates) add(c *chart.Bars, name string, pick func(t *results.RateTable) (results.Rate, results.Extreme, bool)) {
	g := chart.BarGroup{Name: name}
	for _, s := range r.Splits {
		rate, extreme, ok := pick(s.Table)
		if !ok || rate.Rows == 0 {
			continue
		}
		if g.Bars == nil {
			g.Rows = rate.Rows
		}
		g.Bars = append(g.Bars, chart.Bar{Split: s.Split, Word: s.Word, Value: rate.Value, Interval: rate.Interval, Extreme: string(extreme)})
	}
	if g.Bars != nil {
		c.Groups = append(c.Groups, g)
	}
}

// ROC returns the ROC curves with the chosen threshold; nil without curves.
func (r *Rates) ROC() *chart.Chart {
	c := &chart.Chart{Name: "roc", Title: "ROC curves", Note: "Each point of a curve is a threshold. The dots are the chosen threshold; the dashed line is chance.",
		Fixed: true, PercentX: true, PercentY: true, Square: true, Views: []chart.View{{Axis: "false positive rate"}}}
	v := &c.Views[0]
	for _, s := range r.Splits {
		if s.ROC == nil {
			continue
		}
		var curve chart.Curve
		area := 0.0
		for i, p := range s.ROC {
			curve.X, curve.Y = append(curve.X, p.FPR), append(curve.Y, p.TPR)
			if i > 0 {
				area += (p.FPR - s.ROC[i-1].FPR) * (p.TPR + s.ROC[i-1].TPR) / 2
			}
		}
		c.Lines = append(c.Lines, chart.Line{Name: s.Word + " rows", Color: s.Split, Value: fmt.Sprintf("AUC %.3f", area)})
		v.Curves = append(v.Curves, curve)
	}
	if c.Lines == nil {
		return nil
	}
	for _, s := range r.Splits {
		fpr, ok := s.Table.Overall[results.FalsePositiveRate]
		tpr, both := s.Table.Overall[results.TruePositiveRate]
		if ok && both {
			c.Lines = append(c.Lines, chart.Line{Name: "chosen threshold, " + s.Word + " rows", Color: s.Split, Dot: true})
			v.Curves = append(v.Curves, chart.Curve{X: []float64{fpr.Value}, Y: []float64{tpr.Value}})
		}
	}
	c.Lines = append(c.Lines, chart.Line{Name: "chance", Color: "muted", Dash: chart.Dashed})
	v.Curves = append(v.Curves, chart.Curve{X: []float64{0, 1}, Y: []float64{0, 1}})
	return c
}
