package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Details is the content of details.json: what report.html shows and no other file of the run has.
type Details struct {
	Schema int `json:"schema"` // the version of the keys: the constant DetailsSchema
	// Objective is the name of f, and Constraints are the names of g_1..g_m, as in metrics.jsonl.
	Objective   string   `json:"objective"`
	Constraints []string `json:"constraints"`
	// ROC holds the ROC curve of each split, pairs of a false and a true positive rate; nil unless
	// the model has a single score.
	ROC map[Split][][2]float64 `json:"roc,omitempty"`
	// Examples are rows that the model decides wrongly; nil if the task has no decisions.
	Examples *Examples `json:"examples,omitempty"`
}

// DetailsSchema is the version of the keys of details.json.
const DetailsSchema = 1

// Legend is what the plots of the records in metrics.jsonl say in words.
type Legend struct {
	Title string
	// Objective, Constraints: as in Details. Bounded are the constraints' names with their bounds.
	Objective            string
	Constraints, Bounded []string
	Bounds               []float64 // kappa, one for each constraint
}

// Examples are the wrong decisions with the largest margins on the rows of one split.
type Examples struct {
	Split Split `json:"split"`
	// Columns names the values of each row; nil for pictures.
	Columns []string       `json:"columns,omitempty"`
	Classes []ClassExample `json:"classes"`
}

// ClassExample lists wrong decisions on the rows of a class, the largest margin first.
type ClassExample struct {
	Class string    `json:"class"`
	Rows  int       `json:"rows"`  // number of rows of the class
	Wrong int       `json:"wrong"` // number of wrong decisions
	List  []Example `json:"list"`
}

// Example is a row that the model decides wrongly.
type Example struct {
	Row     int    `json:"row"` // the row's number in its source or, without a source, in the split; from 1
	Decided string `json:"decided"`
	// Score is the score of a binary model, which decides at 0. With a score for each class, Score
	// is the score of the decided class minus the score of the row's class.
	Score float64 `json:"score"`
	// Values are the texts of the columns; nil for pictures.
	Values []string `json:"values,omitempty"`
	// Picture is a PNG file; nil for tables.
	Picture []byte `json:"picture,omitempty"`
}

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
	details.Schema = DetailsSchema
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
	if details.Schema != DetailsSchema {
		return Details{}, nil
	}
	return details, nil
}
