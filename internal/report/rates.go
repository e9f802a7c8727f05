package report

import (
	"math"
	"strings"

	"ppal/internal/chart"
	"ppal/trainer/session/results"
)

// ratesView are the rates of decisions, a chart of bars for each rate.
type ratesView struct {
	Splits []Cell // the legend
	Charts []*chart.Bars
	Note   string
}

// splitRates returns the rates and the ROC curves of the splits in their order.
func splitRates(tables map[results.Split]*results.RateTable, roc map[results.Split][][2]float64) Rates {
	var all Rates
	for _, split := range results.Splits() {
		t := tables[split]
		if t == nil {
			continue
		}
		s := SplitRates{Split: string(split), Word: split.Word(), Trained: split == results.Training, Table: t}
		for _, p := range roc[split] {
			s.ROC = append(s.ROC, results.ROCPoint{FPR: p[0], TPR: p[1]})
		}
		all.Splits = append(all.Splits, s)
	}
	return all
}

// rates returns the charts of rates, the confusion matrices and the ROC curves.
func (r *run) rates() (*ratesView, []confusionView, *chart.Chart) {
	if r.summary == nil {
		return nil, nil, nil
	}
	all := splitRates(r.summary.Rates, r.details.ROC)
	if all.Splits == nil {
		return nil, nil, nil
	}
	v := &ratesView{Charts: all.Bars()}
	held, weighted := false, false
	for _, s := range all.Splits {
		v.Splits = append(v.Splits, Cell{Split: s.Split, Word: s.Word + " rows", Value: rowCount(s.Table.Rows)})
		held, weighted = held || !s.Trained, weighted || s.Table.Weight > 0
	}
	if held {
		v.Note = "The thin line on a bar is the 95% interval of the rate on new rows."
	}
	if weighted {
		v.Note = strings.TrimSpace("Rates and numbers of decisions count the rows by their weights. " + v.Note)
	}
	return v, confusions(all.Splits), all.ROC()
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
func confusions(splits []SplitRates) (list []confusionView) {
	for _, split := range splits {
		t := split.Table
		if len(t.Classes) > mostConfused || len(t.Confusion) != len(t.Classes) {
			return nil
		}
		v := confusionView{Word: split.Word + " rows", Classes: t.Classes}
		for a, row := range t.Confusion {
			all := 0.0
			for _, n := range row {
				all += n
			}
			own := confusionRow{Class: t.Classes[a]}
			for d, n := range row {
				share := 0.0
				if all > 0 {
					share = n / all
				}
				own.Cells = append(own.Cells, confusionCell{weightText(n), chart.Percent(share), math.Round(100*share) / 100, a == d})
			}
			v.Rows = append(v.Rows, own)
		}
		list = append(list, v)
	}
	return list
}

// rateFacts returns the rates of all rows in words; on names the rows.
func rateFacts(t *results.RateTable, on string) (list []Fact) {
	of := func(class string) string { return strings.TrimSpace("of the rows of " + class + ", " + on) }
	for _, f := range []struct {
		rate, name, note string
		rest             bool // the share of the other rows
	}{
		{results.ErrorRate, "wrong decisions", on, false},
		{results.PositiveRate, "positive decisions", on, false},
		{results.TruePositiveRate, "missed", of(t.Classes[len(t.Classes)-1]), true},
		{results.FalsePositiveRate, "false alarms", of(t.Classes[0]), false},
	} {
		if r, ok := t.Overall[f.rate]; ok {
			if f.rest {
				r.Value = 1 - r.Value
			}
			list = append(list, Fact{f.name, chart.Percent(r.Value), strings.TrimSuffix(f.note, ",")})
		}
	}
	return list
}
