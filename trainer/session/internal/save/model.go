package save

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// Model holds the contents of the files of a trained model.
type Model struct {
	Training *trainer.Result
	// Output writes the weights of the output as a safetensors file.
	Output func(path string) error
	// Weights writes the stacked weights x, as trained; nil: the run can write only the weights of
	// the output.
	Weights func(path string, x []float64) error
	// Description is the content of model.json without the name of rows.csv. The zero value: the
	// directory has no model.json, rows.csv and preparation.yaml.
	Description results.Model
	Preparation *results.Preparation // nil: none
	Members     []results.Members    // nil: no rows.csv
}

// saveModel writes the model into the directory.
func (d *Directory) saveModel(m *Model) error {
	return m.save(d.Path, func() (string, error) {
		if wait := d.rows; wait != nil { // BeginRows began
			d.rows = nil // a second call writes again
			return wait()
		}
		return d.Path.WriteRows(m.Members)
	})
}

// save writes the weights into a directory, then the weights of the best feasible record and of a
// proof of infeasibility, rows.csv by the function rows, and model.json last.
func (m *Model) save(dir rundir.Dir, rows func() (name string, err error)) error {
	if err := m.Output(dir.Model()); err != nil {
		return err
	}
	if err := m.saveBest(dir); err != nil {
		return err
	}
	if err := m.saveProof(dir); err != nil {
		return err
	}
	described := m.Description
	if described.Kind == "" {
		return nil
	}
	if m.Preparation != nil { // the file may be missing elsewhere, or damaged since the start
		if err := dir.WritePreparation(*m.Preparation); err != nil {
			return err
		}
	}
	if m.Members != nil {
		var err error
		if described.Rows, err = rows(); err != nil {
			return err
		}
	}
	return dir.WriteModel(described)
}

// saveBest writes the weights of the best feasible record. If the training has none, saveBest
// removes the file that an earlier part of the run wrote.
func (m *Model) saveBest(dir rundir.Dir) error {
	var x []float64
	if b := m.Training.BestFeasible; b != nil {
		x = b.X
	}
	return m.saveWeights(dir.Best(), x)
}

// saveProof writes the weights of the point at which the constraints cannot be met, if the training
// proves that.
func (m *Model) saveProof(dir rundir.Dir) error {
	var x []float64
	if c := m.Training.Infeasible; c != nil && m.Training.Status == trainer.Infeasible {
		x = c.X
	}
	return m.saveWeights(dir.Infeasible(), x)
}

// saveWeights writes the weights x into the file, or removes the file if x is nil.
func (m *Model) saveWeights(path string, x []float64) error {
	if m.Weights != nil && x != nil {
		return m.Weights(path, x)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session: %w", err)
	}
	return nil
}
