package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ppal/datasets/tabular"
	"ppal/internal/option"
	"ppal/internal/seal"
)

// ModelSchema is the version of the keys of model.json. A key that is removed or changes its
// meaning raises the version. A new key does not.
// Schema 1 had no checksums.
const ModelSchema = 2

// Model is the content of model.json: what a program needs to use the weights of
// model.safetensors on new rows. The files that it names are in the same directory.
type Model struct {
	Schema  int    `json:"schema"`  // the version of the keys: the constant ModelSchema
	Version string `json:"version"` // of the program that trained
	Task    string `json:"task"`
	Dataset string `json:"dataset,omitempty"` // "" for data at hand
	Kind    string `json:"kind"`              // linear or network
	Weights string `json:"weights"`           // the weights' file, for rows before any normalization
	Input   Input  `json:"input"`
	// Decision is how scores give a class.
	Decision Decision `json:"decision"`
	// Normalization of the rows in training. It is folded into the weights.
	Normalization string `json:"normalization"`
	// Objective and Constraints are the texts of the problem, and Attributes the attributes that
	// the constraints use, with their values among the training rows.
	Objective   string           `json:"objective"`
	Constraints []string         `json:"constraints"`
	Attributes  []ModelAttribute `json:"attributes,omitempty"`
	// Groups are the groups of the rows of a table. Disjoint groups are the values of the attribute
	// GroupsAttribute. Otherwise GroupsAttribute is "", and constraints name them "groups".
	Groups          []ModelGroup `json:"groups,omitempty"`
	GroupsAttribute string       `json:"groups_attribute,omitempty"`
	// Reading says how the columns of attributes and groups are read; nil: not from a table.
	Reading *tabular.Reading `json:"reading,omitempty"`
	// LeftOut names, by constraint, the rates of classes and groups that the constraint leaves out.
	// nil: a version of the program wrote the file that did not record them.
	LeftOut map[string][]string `json:"left_out"`
	// Rows is the file that says to which split each row went; "" for data at hand.
	Rows string `json:"rows,omitempty"`
	// Files has the SHA-256 of the weights' file and of the preparation, in hex, by name.
	Files map[string]string `json:"files,omitempty"`
	// Checksum is the SHA-256 of model.json, in hex, with zeros in place of its own digits.
	Checksum string `json:"checksum,omitempty"`
}

// Input describes the rows that the model takes.
type Input struct {
	Format   Format `json:"format"`
	Features int    `json:"features"` // number of inputs of the model
	// Preparation is the file that says how columns become features; "" for pictures and matrices.
	Preparation string `json:"preparation,omitempty"`
	// Shape is that of a picture: channels, height and width. Scale is multiplied by its bytes.
	Shape []int   `json:"shape,omitempty"`
	Scale float64 `json:"scale,omitempty"`
}

// Format names the format of a model's rows.
type Format string

// The formats.
const (
	FormatText     Format = "text"     // separated fields, CSV or TSV
	FormatLIBSVM   Format = "libsvm"   // LIBSVM's format
	FormatPictures Format = "pictures" // bytes, IDX
	FormatMatrix   Format = "matrix"   // features as the calling program had them
)

// Decision says how the scores of a row give its class.
type Decision struct {
	// Rule is "sign", with one score that decides for the last of two classes if it is above 0, or
	// "largest", with one score for each class.
	Rule    string  `json:"rule"`
	Classes []Class `json:"classes"` // in the order of the scores; two classes: negative, positive
	// Label is how a file's label gives the class; nil for pictures and matrices.
	Label *tabular.Label `json:"label,omitempty"`
	// Threshold has been subtracted from the bias after training, so that the rule holds.
	Threshold float64 `json:"threshold"`
	// Probability gives the probability of the positive class; nil if it was not fitted.
	Probability *Sigmoid `json:"probability,omitempty"`
	// Probabilities gives the probability of each class if the rule is "largest"; nil if it was not
	// fitted.
	Probabilities *Softmax `json:"probabilities,omitempty"`
}

// The rules of decision.
const (
	RuleSign    = "sign"
	RuleLargest = "largest"
)

// Class is a class of the rows.
type Class struct {
	Name  string `json:"name"`
	Value string `json:"value"` // the label's value, as printed in a prediction
	// Number is the class's number in the labels' file of pictures.
	Number *int `json:"number,omitempty"`
}

// Sigmoid is the function 1/(1 + exp(-(Slope score + Intercept))) of a score (Platt scaling).
type Sigmoid struct {
	Slope     float64 `json:"slope"`
	Intercept float64 `json:"intercept"`
}

// Softmax gives the probability of each class k, proportional to exp(Slope score_k + Intercepts_k).
type Softmax struct {
	Slope      float64   `json:"slope"`
	Intercepts []float64 `json:"intercepts"`
}

// ModelAttribute is an attribute of the rows with its values.
type ModelAttribute struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// ModelGroup is a group of rows: the rows that meet all conditions, each on one column. A group
// without conditions has the rows of no other group.
type ModelGroup struct {
	Name       string   `json:"name"`
	Conditions []string `json:"conditions"`
}

// ErrIncomplete says that a directory does not hold a complete run.
var ErrIncomplete = errors.New("not a complete run directory")

// ModelDescription returns the path of model.json.
func (d Dir) ModelDescription() string { return filepath.Join(string(d), "model.json") }

// WriteModel writes model.json, with the version of its keys and the checksums of the files that it
// names.
func (d Dir) WriteModel(m Model) error {
	m.Schema, m.Files = ModelSchema, map[string]string{}
	for _, name := range m.parts() {
		data, err := Seal{}.Read(filepath.Join(string(d), name))
		if err != nil {
			return err
		}
		m.Files[name] = seal.Sum(data)
	}
	text, err := m.Text()
	if err != nil {
		return err
	}
	return WriteFile(d.ModelDescription(), text)
}

// Text returns the content of model.json, with its checksum unless the schema has none.
func (m Model) Text() ([]byte, error) {
	if m.Constraints == nil {
		m.Constraints = []string{}
	}
	if m.Checksum = ""; m.Schema > 1 {
		m.Checksum = seal.Blank
	}
	text, err := indented(m)
	if err != nil {
		return nil, fmt.Errorf("rundir: the model's description: %w", err)
	}
	if m.Checksum != "" {
		seal.Close(text)
	}
	return text, nil
}

// parts returns the names of the files without which the model cannot be used.
func (m *Model) parts() (names []string) {
	for _, name := range []string{m.Weights, m.Input.Preparation} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// ReadModel reads model.json. Errors wrap ErrIncomplete if the directory has none, or has the
// description of a later version, and seal.ErrChanged if the file has another checksum than it
// states.
func (d Dir) ReadModel() (Model, error) {
	m, _, err := d.ReadSealedModel()
	return m, err
}

// ReadSealedModel reads model.json, and the checksums in it: none in a file of an earlier version.
// The errors are those of ReadModel.
func (d Dir) ReadSealedModel() (m Model, sealed Seal, err error) {
	path := d.ModelDescription()
	data, err := Seal{}.Read(path)
	switch {
	case err == nil:
	case !errors.Is(err, os.ErrNotExist):
		return m, sealed, err
	case !exists(string(d)):
		return m, sealed, fmt.Errorf("rundir: %s: %w: there is no such directory", d, ErrIncomplete)
	case exists(d.Model()):
		return m, sealed, fmt.Errorf("rundir: %s: %w: an earlier version of ppal wrote it, without model.json; "+
			"`ppal train --config %s --init %s --iterations 0 --out NEW` writes a complete one with the same weights",
			d, ErrIncomplete, option.ShellWord(d.Config()), option.ShellWord(d.Model()))
	default:
		return m, sealed, fmt.Errorf("rundir: %s: %w: there is no model.json, which a run writes when its training has ended", d, ErrIncomplete)
	}
	return d.ParseModel(data)
}

// ParseModel returns what the content of model.json says, like ReadSealedModel.
func (d Dir) ParseModel(data []byte) (m Model, sealed Seal, err error) {
	path := d.ModelDescription()
	var closed bool
	if sealed.Sums, closed, err = seal.SumsOf(path, data); errors.Is(err, seal.ErrChanged) {
		return m, sealed, fmt.Errorf("rundir: %w", err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, sealed, fmt.Errorf("rundir: %s: %w: %w", path, ErrIncomplete, err)
	}
	if m.Schema < 1 || m.Schema > ModelSchema {
		return m, sealed, fmt.Errorf("rundir: %s: %w: its schema is %d, this program reads schemas up to %d; use a newer ppal",
			path, ErrIncomplete, m.Schema, ModelSchema)
	}
	for _, name := range append(m.parts(), m.Rows) {
		switch {
		case name != "" && (name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." || strings.ContainsAny(name, `/\`)):
			return m, sealed, fmt.Errorf("rundir: %s: %w: it names the file %q, which is not in the run's directory", path, ErrIncomplete, name)
		case m.Schema > 1 && name != m.Rows && !sealed.Has(name):
			return m, sealed, fmt.Errorf("rundir: %s: %w: it has no checksum of %s", path, seal.ErrChanged, name)
		}
	}
	if m.Schema > 1 && !closed {
		return m, sealed, fmt.Errorf("rundir: %s: %w: it has no checksum", path, seal.ErrChanged)
	}
	return m, sealed, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
