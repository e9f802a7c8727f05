package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ppal/trainer/session/results"
)

// Details is the content of details.json: what report.html shows and no other file of the run has.
type Details struct {
	Schema int `json:"schema"` // the version of the keys: the constant detailsSchema
	// Objective is the name of f, and Constraints are the names of g_1..g_m, as in metrics.jsonl.
	Objective   string   `json:"objective"`
	Constraints []string `json:"constraints"`
	// ROC holds the ROC curve of each split, pairs of a false and a true positive rate; nil unless
	// the model has a single score.
	ROC map[results.Split][][2]float64 `json:"roc,omitempty"`
	// Examples are rows that the model decides wrongly; nil if the task has no decisions.
	Examples *results.Examples `json:"examples,omitempty"`
}

// detailsSchema is the version of the keys of details.json.
const detailsSchema = 1

// Details returns the path of details.json.
func (d Dir) Details() string { return filepath.Join(string(d), "details.json") }

// Report returns the path of the page that shows the run.
func (d Dir) Report() string { return filepath.Join(string(d), "report.html") }

// RemovePictures removes the files that only show what other files hold: the plots, report.html and
// details.json.
func (d Dir) RemovePictures() error {
	err := os.RemoveAll(d.Plots())
	for _, path := range []string{d.Report(), d.Details()} {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// WriteDetails writes details.json, with the version of its keys.
func (d Dir) WriteDetails(details Details) error {
	details.Schema = detailsSchema
	data, err := json.Marshal(details)
	if err != nil {
		return fmt.Errorf("rundir: details.json: %w", err)
	}
	return WriteFile(d.Details(), append(data, '\n'))
}

// ReadDetails reads details.json, and compares it with the checksum of the seal. It returns no
// details for a run without the file, which an earlier version of the program wrote, and for the
// file of a later version. The errors are those of Seal.Read and of the parser.
func (d Dir) ReadDetails(sealed Seal) (Details, error) {
	var details Details
	data, err := sealed.Read(d.Details())
	if errors.Is(err, os.ErrNotExist) && !sealed.Has(d.Details()) {
		return details, nil
	}
	if err != nil {
		return details, err
	}
	if err := json.Unmarshal(data, &details); err != nil {
		return Details{}, fmt.Errorf("rundir: %s: %w", d.Details(), err)
	}
	if details.Schema != detailsSchema {
		return Details{}, nil
	}
	return details, nil
}
