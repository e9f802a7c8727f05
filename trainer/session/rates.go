package session

import (
	"ppal/constraints"
	"ppal/internal/rates"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/session/internal/measure"
)

// The rates of decisions on the rows of a split.
type (
	// RateTable holds the rates of all rows and of each group, and the confusion matrix.
	RateTable = rates.Table
	// GroupRates holds the rates of a group.
	GroupRates = rates.ByGroup
	// Rate is a share of rows, with its 95% interval on held-out rows.
	Rate = rates.Rate
	// ROCPoint is a point of an ROC curve.
	ROCPoint = rates.Point
)

// decided returns the decisions of scores on the split; nil if the scores of a task of the caller's
// own are neither a single score for two classes nor a score for each class.
func (s *split) decided(scores []float64) (*measure.Decided, error) {
	labels, err := rowsOf(s.Rows).indices()
	if err != nil {
		return nil, err
	}
	return measure.Decide(s.Name, classNames(s.Classes), labels, scores), nil
}

// classNames returns the names of the classes.
func classNames(classes []load.Class) []string {
	names := make([]string, len(classes))
	for k, c := range classes {
		names[k] = c.Name
	}
	return names
}

// measureRates sets the rates and the ROC curve of a split, if the scores decide.
func (a *assembly) measureRates(s *split, m *SplitMeasures, scores []float64) error {
	decided, err := s.decided(scores)
	if decided == nil || err != nil {
		return err
	}
	var sample *constraints.Sample
	d := a.decided()
	if d != nil {
		if sample, err = d.sampleOf(s); err != nil {
			return err
		}
	}
	groups, err := s.RateGroups(sample)
	if err != nil {
		return err
	}
	if m.Rates, err = decided.Rates(groups); err != nil {
		return err
	}
	if d != nil {
		m.Rates.MarkExtremes(d.System.BoundGroups())
	}
	m.ROC = decided.ROC()
	return nil
}
