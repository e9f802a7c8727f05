package report

import (
	"fmt"
	"math"
	"slices"

	"ppal/internal/rates"
	"ppal/internal/rundir"
)

// ratesView are the rates of decisions, a chart of bars for each rate.
type ratesView struct {
	Splits []cell // the legend
	Charts []rateChart
	Note   string
}

type rateChart struct {
	Title, Note string
	Most        string // the right end of the bars
	Groups      []rateGroup
}

type rateGroup struct {
	Name, Rows string
	Bars       []bar
}

// bar is a rate with its interval, in percent of the width.
type bar struct {
	Split, Word, Value, Interval string
	Extreme                      string // largest or smallest of the groups of a bound, or ""
	Width                        float64
	Held                         bool
	From, To                     float64
}

// mostGroups is the largest number of groups in a chart of bars.
const mostGroups = 12

// splitTable is the table of a split.
type splitTable struct {
	split rundir.Split
	*rates.Table
}

// tables returns the tables of the splits in their order.
func (r *run) tables() (list []splitTable) {
	if r.summary == nil {
		return nil
	}
	for _, split := range rundir.Splits() {
		if t := r.summary.Rates[split]; t != nil {
			list = append(list, splitTable{split, t})
		}
	}
	return list
}

// rates returns the charts of rates, the confusion matrices and the ROC curves.
func (r *run) rates() (*ratesView, []confusionView, *Chart) {
	tables := r.tables()
	if tables == nil {
		return nil, nil, nil
	}
	v := &ratesView{}
	held := false
	for _, t := range tables {
		v.Splits = append(v.Splits, cell{Split: string(t.split), Word: t.split.Word() + " rows", Value: count(t.Rows)})
		held = held || t.split != rundir.Training
	}
	if held {
		v.Note = "The thin line on a bar is the 95% interval of the rate on new rows."
	}
	first := tables[0]
	groups := first.Shown(mostGroups)
	some := ""
	if len(groups) < len(first.ByGroup) {
		some = fmt.Sprintf(" The chart shows %d of %d groups: those with the largest and smallest rates under a bound, and those with the most rows.",
			len(groups), len(first.ByGroup))
	}
	byGroup := func(name, title, note string) {
		c := rateChart{Title: title, Note: note + some}
		c.add(tables, "all rows", func(t *rates.Table) (rates.Rate, rates.Extreme, bool) { v, ok := t.Overall[name]; return v, "", ok })
		for _, g := range groups {
			c.add(tables, first.ByGroup[g].Group, func(t *rates.Table) (rates.Rate, rates.Extreme, bool) {
				if g >= len(t.ByGroup) {
					return rates.Rate{}, "", false
				}
				v, ok := t.ByGroup[g].Rates[name]
				return v, t.ByGroup[g].Extremes[name], ok
			})
		}
		v.Charts = append(v.Charts, c.scaled())
	}
	if len(first.Classes) == 2 {
		positive := first.Classes[1]
		byGroup(rates.PositiveRate, "Positive rate", "The share of the rows that the model decides as "+positive+".")
		byGroup(rates.TruePositiveRate, "True positive rate", "The same share of the rows of the class "+positive+".")
		byGroup(rates.FalsePositiveRate, "False positive rate", "The same share of the rows of the class "+first.Classes[0]+".")
		byGroup(rates.Error, "Error", "The share of the rows with a wrong decision.")
	} else {
		for _, q := range []struct {
			title, note string
			of          func(string) string
		}{
			{"Recall", "The share of the rows of each class that the model decides correctly.", rates.RecallOf},
			{"Precision", "The share of the decisions for each class that are correct.", rates.PrecisionOf},
		} {
			c := rateChart{Title: q.title, Note: q.note}
			for _, class := range first.Classes[:min(len(first.Classes), 2*mostGroups)] {
				c.add(tables, class, func(t *rates.Table) (rates.Rate, rates.Extreme, bool) {
					v, ok := t.Overall[q.of(class)]
					return v, "", ok
				})
			}
			v.Charts = append(v.Charts, c.scaled())
		}
		if len(groups) > 0 {
			byGroup(rates.Error, "Error by group", "The share of the rows with a wrong decision.")
		}
		for _, name := range first.Order()[1:] { // the rates of groups under a bound
			if slices.ContainsFunc(first.ByGroup, func(g rates.ByGroup) bool { return g.Extremes[name] != "" }) {
				byGroup(name, name+" by group", "")
			}
		}
	}
	return v, confusions(tables), r.roc(tables)
}

// add adds a group with a bar for each split.
func (c *rateChart) add(tables []splitTable, name string, of func(t *rates.Table) (rates.Rate, rates.Extreme, bool)) {
	g := rateGroup{Name: name}
	for _, t := range tables {
		rate, extreme, ok := of(t.Table)
		if !ok || rate.Rows == 0 {
			continue
		}
		b := bar{Split: string(t.split), Word: t.split.Word(), Value: percent(rate.Value), Width: rate.Value, Extreme: string(extreme)}
		if i := rate.Interval; i != nil {
			b.Held, b.From, b.To = true, i[0], i[1]
			b.Interval = percent(i[0]) + " to " + percent(i[1])
		}
		if g.Bars == nil {
			g.Rows = plural(rate.Rows, "row")
		}
		g.Bars = append(g.Bars, b)
	}
	if g.Bars != nil {
		c.Groups = append(c.Groups, g)
	}
}

// scaled replaces rates by percent of the width. The longest bar or interval ends at the right end.
func (c *rateChart) scaled() rateChart {
	most := 0.01
	for _, g := range c.Groups {
		for _, b := range g.Bars {
			most = max(most, b.Width, b.To)
		}
	}
	most = min(1, most*1.02)
	c.Most = percent(most)
	for _, g := range c.Groups {
		for k := range g.Bars {
			b := &g.Bars[k]
			b.Width, b.From, b.To = places(100*b.Width/most), places(100*b.From/most), places(100*b.To/most)
			b.To -= b.From // the width of the interval
		}
	}
	return *c
}

// confusionView is the confusion matrix of a split.
type confusionView struct {
	Word    string
	Classes []string
	Rows    []confusionRow
}

type confusionRow struct {
	Class string
	Cells []confusionCell
}

type confusionCell struct {
	Count, Share string
	Shade        float64 // from 0 to 1
	Right        bool
}

// mostConfused is the largest number of classes of a matrix.
const mostConfused = 12

// confusions returns the matrix of each split.
func confusions(tables []splitTable) (list []confusionView) {
	for _, t := range tables {
		if len(t.Classes) > mostConfused || len(t.Confusion) != len(t.Classes) {
			return nil
		}
		v := confusionView{Word: t.split.Word() + " rows", Classes: t.Classes}
		for a, row := range t.Confusion {
			all := 0
			for _, n := range row {
				all += n
			}
			own := confusionRow{Class: t.Classes[a]}
			for d, n := range row {
				share := float64(n) / float64(max(1, all))
				own.Cells = append(own.Cells, confusionCell{count(n), percent(share), math.Round(100*share) / 100, a == d})
			}
			v.Rows = append(v.Rows, own)
		}
		list = append(list, v)
	}
	return list
}

// roc returns the ROC curves with the chosen threshold; nil without curves.
func (r *run) roc(tables []splitTable) *Chart {
	if len(r.details.ROC) == 0 {
		return nil
	}
	c := &Chart{Title: "ROC curves", Note: "Each point of a curve is a threshold. The dots are the chosen threshold; the dashed line is chance.",
		Fixed: true, PercentX: true, PercentY: true, Square: true, Views: []View{{Axis: "false positive rate"}}}
	v := &c.Views[0]
	for _, t := range tables {
		points := r.details.ROC[t.split]
		if points == nil {
			continue
		}
		var curve Curve
		area := 0.0
		for i, p := range points {
			curve.X, curve.Y = append(curve.X, p[0]), append(curve.Y, p[1])
			if i > 0 {
				area += (p[0] - points[i-1][0]) * (p[1] + points[i-1][1]) / 2
			}
		}
		c.Lines = append(c.Lines, Line{Name: t.split.Word() + " rows", Color: string(t.split), Value: fmt.Sprintf("AUC %.3f", area)})
		v.Curves = append(v.Curves, curve)
	}
	for _, t := range tables {
		fpr, ok := t.Overall[rates.FalsePositiveRate]
		tpr, both := t.Overall[rates.TruePositiveRate]
		if ok && both {
			c.Lines = append(c.Lines, Line{Name: "chosen threshold, " + t.split.Word() + " rows", Color: string(t.split), Dot: true})
			v.Curves = append(v.Curves, Curve{X: []float64{fpr.Value}, Y: []float64{tpr.Value}})
		}
	}
	c.Lines, v.Curves = append(c.Lines, Line{Name: "chance", Color: "k", Faint: true, Dashed: true}), append(v.Curves, Curve{X: []float64{0, 1}, Y: []float64{0, 1}})
	return c
}
