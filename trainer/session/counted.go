package session

import (
	"fmt"

	"ppal/trainer"
	"ppal/trainer/session/internal/measure"
)

// scores64 returns the scores of a split in float64 at the iterate.
func (a *assembly) scores64(s *split) ([]float64, error) {
	x := a.iterate()
	b, err := a.builder.exactBlocks(s, x)
	if err != nil {
		return nil, err
	}
	return b.Scores(x)
}

// outcome counts the decisions of every split. scores holds the scores of each split, in the order
// of the splits, and values f and g + bound of the training rows.
func (a *assembly) outcome(r *trainer.Result, scores [][]float64, values []float64) (*Outcome, error) {
	d, list := a.decided(), make([]measure.Judged, len(a.splits))
	parameters, err := a.builder.Terms.At(a.iterate())
	if err != nil {
		return nil, err
	}
	for k, s := range a.splits {
		list[k] = measure.Judged{Split: s.Name, Classes: len(s.Classes), Scores: scores[k]}
		if list[k].Sample, err = d.sampleOf(s); err != nil {
			return nil, fmt.Errorf("session: %s rows: %w", s.Name, err)
		}
		if list[k].Labels, err = rowsOf(s.Rows).indices(); err != nil {
			return nil, err
		}
	}
	o, err := d.Outcome(list, parameters, values)
	if err != nil {
		return nil, err
	}
	o.GradientEvaluations = r.Point.GradientEvaluations
	if a.solved != nil {
		a.solved.Describe(o)
		a.confidence.Describe(o)
	}
	return o, nil
}
