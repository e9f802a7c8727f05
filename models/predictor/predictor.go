// Package predictor uses trained models: it loads the directory of a run, prepares new rows in the
// same way as the training rows, and computes scores, decisions and probabilities.
//
//	m, err := predictor.Load("runs/20260101-120000-mnpc-alm")
//	err = m.Read(file, "new.csv", predictor.Options{}, func(b *predictor.Batch) error {
//		for i, class := range b.Decisions {
//			fmt.Println(b.First+i+1, b.Scores[i], m.Classes()[class])
//		}
//		return nil
//	})
//
// A program that scores rows in Parquet files imports ppal/datasets/parquet for its effect.
package predictor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/decide"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer/session/results"
)

// ErrModel says that the files of a run directory do not fit each other.
var ErrModel = errors.New("inconsistent run directory")

// Model is a trained model with everything that new rows need. Several goroutines may use it.
type Model struct {
	dir         rundir.Dir
	description results.Model
	model       models.Model
	preparation *tabular.Preparation // nil for pictures and matrices
}

// Load loads the directory of a run: model.json, model.safetensors and preparation.yaml. It
// compares the files with the checksums in model.json before it uses them.
//
// The error wraps ErrModel, or is an error of package models or datasets, or says that the
// directory is not complete, or that a file is damaged or belongs to another run.
func Load(dir string) (*Model, error) { return load(dir, false) }

// ErrNoBest says that a run has no weights that LoadBest could load.
var ErrNoBest = errors.New("no weights of a best feasible record")

// LoadBest loads the directory of a run like Load, but with the weights of the best feasible record
// (best.safetensors): among the records whose largest violation was within the feasibility
// tolerance, the record with the smallest objective. LoadBest compares all files with the checksums
// in summary.json. The decisions have no threshold, and the model has no probabilities, because the
// run fitted both to the weights that Load loads.
//
// The error wraps ErrNoBest if no record was feasible, or if the run's bounds are on decisions: the
// feasible records then refer to smooth bounds, which decisions without the threshold may violate.
// Other errors are those of Load.
func LoadBest(dir string) (*Model, error) { return load(dir, true) }

// load loads a directory, with the weights of the best feasible record or of the output.
func load(dir string, best bool) (*Model, error) {
	m := &Model{dir: rundir.Dir(dir)}
	var err error
	var sealed rundir.Seal
	if m.description, sealed, err = m.dir.ReadSealedModel(); err != nil {
		return nil, err
	}
	if best {
		if sealed, err = m.best(); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(dir, m.description.Weights)
	weights, err := sealed.Read(path)
	if err != nil {
		return nil, err
	}
	if m.model, err = models.Load(bytes.NewReader(weights), nil); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if m.description.Input.Preparation != "" {
		p, err := m.dir.ReadPreparation(sealed)
		if err != nil {
			return nil, err
		}
		m.preparation = &p.Preparation
	}
	return m, m.check()
}

// best changes the description to the weights of the best feasible record. It returns the checksums
// of the run's files, and has compared model.json with them.
func (m *Model) best() (sealed rundir.Seal, err error) {
	d := m.dir
	sum, sealed, _, err := rundir.ReadSealed(d.Summary())
	if err != nil {
		return sealed, err
	}
	if o := sum.Outcome; o != nil && o.BoundsOn == constraints.OnDecisions {
		return sealed, fmt.Errorf("predictor: %s: %w: the bounds are on decisions, and only the run's output has their threshold", d, ErrNoBest)
	}
	if sum.BestFeasible == nil {
		return sealed, fmt.Errorf("predictor: %s: %w: no record was feasible", d, ErrNoBest)
	}
	if _, err := os.Stat(d.Best()); errors.Is(err, fs.ErrNotExist) {
		return sealed, fmt.Errorf("predictor: %s: %w: there is no %s", d, ErrNoBest, filepath.Base(d.Best()))
	}
	m.description.Weights = filepath.Base(d.Best())
	m.description.Decision.Threshold, m.description.Decision.Probability, m.description.Decision.Probabilities = 0, nil, nil
	_, err = sealed.Read(d.ModelDescription())
	return sealed, err
}

// Notes returns sentences about what could not be checked: the files of a run of an earlier version
// of the program, which wrote no checksums into model.json.
func (m *Model) Notes() (list []string) {
	if m.description.Schema < 2 {
		list = append(list, fmt.Sprintf("%s: an earlier version of ppal wrote model.json, without checksums: damaged and exchanged files are not noticed", m.dir))
	}
	return list
}

// check returns an error if the files do not fit each other.
func (m *Model) check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("predictor: %s: %w: %s", m.dir, ErrModel, fmt.Sprintf(format, args...))
	}
	d := m.description
	inputs, outputs := m.model.Architecture.Dims()
	if d.Input.Features != inputs {
		return fail("model.json has %d features, the weights have %d", d.Input.Features, inputs)
	}
	prepared := slices.Contains([]results.Format{results.FormatText, results.FormatLIBSVM, results.FormatPictureFiles}, d.Input.Format)
	if prepared && m.preparation == nil {
		return fail("rows in the format %q need preparation.yaml, which model.json does not name", d.Input.Format)
	}
	if m.preparation != nil {
		if n := m.preparation.Width(); n != inputs {
			return fail("the preparation makes %d features, the weights have %d", n, inputs)
		}
	}
	switch classes := len(d.Decision.Classes); {
	case d.Decision.Rule == results.RuleSign && (outputs != 1 || classes != 2):
		return fail("the rule %q needs one score and two classes, there are %d and %d", d.Decision.Rule, outputs, classes)
	case d.Decision.Rule == results.RuleLargest && outputs != classes:
		return fail("the rule %q needs a score for each class, there are %d scores and %d classes", d.Decision.Rule, outputs, classes)
	case d.Decision.Probabilities != nil && len(d.Decision.Probabilities.Intercepts) != classes:
		return fail("the probabilities have %d intercepts, there are %d classes", len(d.Decision.Probabilities.Intercepts), classes)
	case d.Decision.Rule == results.RuleRank && outputs != 1:
		return fail("the rule %q needs one score, there are %d", d.Decision.Rule, outputs)
	case d.Decision.Rule != results.RuleRank && d.Decision.Rule != results.RuleSign && d.Decision.Rule != results.RuleLargest:
		return fail("unknown rule of decision %q", d.Decision.Rule)
	}
	return nil
}

// Classes returns the texts of the classes in predictions: the values of the label, or names. With
// a single score, the classes are the negative and the positive class.
func (m *Model) Classes() []string {
	var values []string
	for _, c := range m.description.Decision.Classes {
		values = append(values, c.Value)
	}
	return values
}

// Outputs returns the number of scores of a row: a single score, or a score for each class.
func (m *Model) Outputs() int {
	_, outputs := m.model.Architecture.Dims()
	return outputs
}

// Features returns the names of the model's inputs, or nil for pictures and matrices.
func (m *Model) Features() []string {
	if m.preparation == nil {
		return nil
	}
	return m.preparation.Columns()
}

// Pictures reports whether the model's rows are pictures.
func (m *Model) Pictures() bool { return m.description.Input.Format == results.FormatPictures }

// Description returns the content of model.json. LoadBest changes the file of the weights and the
// decision.
func (m *Model) Description() results.Model { return m.description }

// Weights returns the model in the file of the weights.
func (m *Model) Weights() models.Model { return m.model }

// Preparation returns the rules that turn columns into features, or nil for pictures and matrices.
func (m *Model) Preparation() *tabular.Preparation { return m.preparation }

// Scores returns the scores [rows, Outputs] of prepared rows [rows, features], in float64. For
// pictures a feature is a byte times 1/255. A score that is not finite is an error.
func (m *Model) Scores(rows []float64) ([]float64, error) {
	return m.model.Predict(rows)
}

// Decide returns the decision for each row's scores, as an index into Classes. With a single score
// the decision is 1 if the score is above 0, else 0. With a score for each class the decision is
// the first class with the largest score. The weights include the threshold of the training.
func (m *Model) Decide(scores []float64) []int {
	return m.decide(make([]int, 0, len(scores)/m.Outputs()), scores)
}

// decide appends the decisions to the slice to.
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

// Probability returns the probability of the positive class for a score, from the sigmoid that the
// run fitted after training. ok is false if the run fitted no sigmoid.
func (m *Model) Probability(score float64) (p float64, ok bool) {
	s := m.description.Decision.Probability
	if s == nil {
		return 0, false
	}
	return 1 / (1 + math.Exp(-(s.Slope*score + s.Intercept))), true
}

// Probabilities returns the probability of each class for one row's scores, from the softmax that
// the run fitted after training. ok is false if the model has a single score or the run fitted no
// softmax. If bounds moved the scores of the classes, the decision may differ from the class with
// the largest probability.
func (m *Model) Probabilities(scores []float64) (p []float64, ok bool) {
	s := m.description.Decision.Probabilities
	if s == nil {
		return nil, false
	}
	p = make([]float64, len(scores))
	decide.Softmax{Slope: s.Slope, Intercepts: s.Intercepts}.Probabilities(p, scores)
	return p, true
}
