// Package predictor uses trained models: it loads the directory of a run, prepares new rows as the
// run prepared its own, and computes scores, decisions and probabilities.
//
//	m, err := predictor.Load("runs/20260101-120000-mnpc-ppala")
//	err = m.Read(file, "new.csv", predictor.Options{}, func(b *predictor.Batch) error {
//		for i, class := range b.Decisions {
//			fmt.Println(b.First+i+1, b.Scores[i], m.Classes()[class])
//		}
//		return nil
//	})
package predictor

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"ppal/datasets"
	"ppal/internal/rundir"
	"ppal/models"
)

// ErrModel says that the files of a run directory do not fit each other.
var ErrModel = errors.New("inconsistent run directory")

// Model is a trained model with everything that new rows need. Several goroutines may use it.
type Model struct {
	dir         rundir.Dir
	description rundir.Model
	model       models.Model
	preparation *datasets.Preparation // nil for pictures and matrices
}

// Load loads a run's directory: model.json, model.safetensors and preparation.yaml.
//
// Errors wrap rundir's "not a complete run directory" for a directory that an earlier version of
// the program wrote, an error of package models or datasets, or ErrModel.
func Load(dir string) (*Model, error) {
	m := &Model{dir: rundir.Dir(dir)}
	var err error
	if m.description, err = m.dir.ReadModel(); err != nil {
		return nil, err
	}
	if m.model, err = models.LoadFile(filepath.Join(dir, m.description.Weights), nil); err != nil {
		return nil, err
	}
	if m.description.Input.Preparation != "" {
		p, err := m.dir.ReadPreparation()
		if err != nil {
			return nil, err
		}
		m.preparation = &p.Preparation
	}
	return m, m.check()
}

// check returns an error if the files do not fit each other.
func (m *Model) check() error {
	fail := func(format string, of ...any) error {
		return fmt.Errorf("predictor: %s: %w: %s", m.dir, ErrModel, fmt.Sprintf(format, of...))
	}
	inputs, outputs, d := m.model.Spec.Inputs, m.model.Spec.Outputs, m.description
	if d.Input.Features != inputs {
		return fail("model.json has %d features, the weights have %d", d.Input.Features, inputs)
	}
	if m.preparation != nil {
		if n := len(m.preparation.Columns()); n != inputs {
			return fail("the preparation makes %d features, the weights have %d", n, inputs)
		}
	}
	switch classes := len(d.Decision.Classes); {
	case d.Decision.Rule == rundir.RuleSign && (outputs != 1 || classes != 2):
		return fail("the rule %q needs one score and two classes, there are %d and %d", d.Decision.Rule, outputs, classes)
	case d.Decision.Rule == rundir.RuleLargest && outputs != classes:
		return fail("the rule %q needs a score for each class, there are %d scores and %d classes", d.Decision.Rule, outputs, classes)
	case d.Decision.Rule != rundir.RuleSign && d.Decision.Rule != rundir.RuleLargest:
		return fail("unknown rule of decision %q", d.Decision.Rule)
	}
	return nil
}

// Classes returns the classes' texts in predictions: the values of the label, or names. With one
// score the classes are the negative and the positive class.
func (m *Model) Classes() []string {
	var values []string
	for _, c := range m.description.Decision.Classes {
		values = append(values, c.Value)
	}
	return values
}

// Outputs returns the number of scores of a row: one, or one for each class.
func (m *Model) Outputs() int { return m.model.Spec.Outputs }

// Features returns the names of the model's inputs; nil for pictures and matrices.
func (m *Model) Features() []string {
	if m.preparation == nil {
		return nil
	}
	return m.preparation.Columns()
}

// Pictures reports whether the model's rows are pictures.
func (m *Model) Pictures() bool { return m.description.Input.Format == rundir.FormatPictures }

// Constraints returns the constraints of the training, as texts.
func (m *Model) Constraints() []string { return slices.Clone(m.description.Constraints) }

// Description returns the content of model.json.
func (m *Model) Description() rundir.Model { return m.description }

// Weights returns the weights, for rows before any normalization, and their description.
func (m *Model) Weights() models.Model { return m.model }

// Preparation returns how columns become features; nil for pictures and matrices.
func (m *Model) Preparation() *datasets.Preparation { return m.preparation }

// Scores returns the scores [rows, Outputs] of prepared rows [rows, features], in float64. For
// pictures a feature is a byte times 1/255. A score that is not finite is an error.
func (m *Model) Scores(rows []float64) ([]float64, error) {
	return models.Predict(m.model.Spec, m.model.Weights, rows)
}

// Decide returns the decision for each row's scores, as an index into Classes: with one score 1 if
// it is above 0, else 0; with a score for each class the first class with the largest score. The
// threshold of the training is part of the weights.
func (m *Model) Decide(scores []float64) []int {
	return m.decide(make([]int, 0, len(scores)/m.Outputs()), scores)
}

// decide appends the decisions.
func (m *Model) decide(to []int, scores []float64) []int {
	outputs := m.Outputs()
	for ; len(scores) > 0; scores = scores[outputs:] {
		class := 0
		if outputs == 1 && scores[0] > 0 {
			class = 1
		}
		for k := 1; k < outputs; k++ {
			if scores[k] > scores[class] {
				class = k
			}
		}
		to = append(to, class)
	}
	return to
}

// Probability returns the probability of the positive class for a score, by the sigmoid that was
// fitted after training. ok is false if none was fitted.
func (m *Model) Probability(score float64) (p float64, ok bool) {
	s := m.description.Decision.Probability
	if s == nil {
		return 0, false
	}
	return 1 / (1 + math.Exp(-(s.Slope*score + s.Intercept))), true
}
