package report

import (
	"fmt"

	"ppal/internal/option"
	"ppal/internal/rundir"
	"ppal/trainer/session/results"
)

// Evaluation is the content of the page of decisions on labelled rows.
type Evaluation struct {
	Title, Version string
	// Outcome has the constraints. Their values on training rows are those on the rows of the page.
	Outcome     *results.Outcome
	Uncounted   []string // sentences about constraints without a value
	Rates       *results.RateTable
	Comparisons []results.Comparison
}

// evaluationView is the data of the template of an evaluation.
type evaluationView struct {
	Status      Status
	Facts       []Fact
	Bounds      []boundView
	Uncounted   []string
	Rates       *ratesView
	Comparisons Table
	Confusion   []confusionView
}

// WriteEvaluation writes the page of decisions on labelled rows.
func WriteEvaluation(path string, e *Evaluation) error {
	v := &evaluationView{Status: countedStatus(e.Outcome), Uncounted: e.Uncounted,
		Comparisons: Table{Head: []string{"between groups of", "rate", "difference", "95% interval", "ratio", "95% interval", "largest", "smallest"},
			Text: []bool{true, true, false, false, false, false, true, true}}}
	v.Status.Lead = fmt.Sprintf("Counted on %s with labels. Intervals are for new rows, at 95%%.", option.Counted(e.Rates.Rows, "row"))
	for j := range e.Outcome.Constraints {
		row := NewRow(e.Outcome, &e.Outcome.Constraints[j])
		row.Values[0].Interval = row.Interval
		b := newBound(&row)
		b.Cells[0].Word = "these rows"
		v.Bounds = append(v.Bounds, b)
	}
	v.Facts = rateFacts(e.Rates, "")
	rates := Rates{Splits: []SplitRates{{Split: string(results.Test), Word: "these", Table: e.Rates}}}
	v.Rates = &ratesView{Charts: rates.Bars(), Note: "The thin line on a bar is the 95% interval of the rate on new rows."}
	v.Confusion = confusions(rates.Splits)
	for k, c := range e.Comparisons {
		attribute, ratio, span := c.Groups, "-", ""
		if k > 0 && e.Comparisons[k-1].Groups == attribute {
			attribute = ""
		}
		if c.Ratio != nil {
			ratio, span = Number(&c.Ratio.Value), Span(&c.Ratio.Interval)
		}
		v.Comparisons.Rows = append(v.Comparisons.Rows, []string{attribute, c.Rate, Number(&c.Difference.Value), Span(&c.Difference.Interval), ratio, span, c.Largest, c.Smallest})
	}
	data, err := newPage("evaluation", e.Title, "Evaluation", e.Version, "", v).render()
	if err != nil {
		return err
	}
	return rundir.WriteFile(path, data)
}
