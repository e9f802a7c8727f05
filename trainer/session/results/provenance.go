package results

import (
	"path/filepath"

	"ppal/models"
)

// DataName returns what titles call the data of a run: the name of the user's own file, else the
// name of the data set.
func DataName(dataset, file string) string {
	switch file {
	case "":
		return dataset
	case "-":
		return "standard input"
	}
	return filepath.Base(file)
}

// Title has the settings that name a run, as config.yaml has them.
type Title struct {
	Method  string `yaml:"method"`
	Model   string `yaml:"model"`
	Dataset string `yaml:"dataset"`
	File    string `yaml:"file"`
}

// String returns the title of the run, such as "alm on adult".
func (t *Title) String() string {
	return MethodName(t.Method, t.Model) + " on " + DataName(t.Dataset, t.File)
}

// MethodName returns what titles call the method of a run, by the settings method and model: given
// scores have thresholds, and no method; a program's own method is no setting.
func MethodName(method, model string) string {
	switch {
	case method == "" && model == models.KindScores:
		return "thresholds"
	case method == "":
		return "an own method"
	}
	return method
}

// Provenance describes the origin of a run. config.yaml contains it in addition to the settings.
type Provenance struct {
	Schema        int          `yaml:"schema"`
	Version       string       `yaml:"version"`
	Out           string       `yaml:"out"`                // the run's directory
	DataDir       string       `yaml:"data-dir,omitempty"` // of a published data set
	Data          []DataFile   `yaml:"data"`
	Init          *DataFile    `yaml:"init,omitempty"` // the file of the initial weights; nil: drawn from the seed
	Classes       []SplitSizes `yaml:"classes"`
	Groups        []SplitSizes `yaml:"groups,omitempty"`
	Features      int          `yaml:"features"`
	Parameters    int          `yaml:"parameters"`
	Normalization string       `yaml:"normalization"`
	Products      string       `yaml:"products"` // with the data, as they ran: int8x3, or a dtype
	Bounds        []float64    `yaml:"bounds,flow"`
	Constraints   []string     `yaml:"constraints,omitempty"` // g_1..g_m in words, with the bounds
	Device        string       `yaml:"device,omitempty"`      // what computes, in words
	// Resolved has, by the name of the setting, what the run used for settings that leave the
	// choice to the program: device, simd, products, threads, and record-every except in rounds
	// of bounds on decisions.
	Resolved map[string]string `yaml:"resolved,omitempty"`
	Extended *Extended         `yaml:"extended,omitempty"` // nil: the run has its first limits
	Warnings []string          `yaml:"warnings,omitempty"`
	Notes    []string          `yaml:"notes,omitempty"`
}

// Extended describes the last extension of a run by longer limits.
type Extended struct {
	Config     string   `yaml:"config"`          // SHA-256 of config.yaml before the extension, in hex
	Iterations int      `yaml:"iterations"`      // the first limit of the run
	Notes      []string `yaml:"notes,omitempty"` // how an uninterrupted run may differ
}

// DataFile identifies the data that were read: a file with the checksum of its bytes, or the rows
// of a built-in data set.
type DataFile struct {
	Name   string `yaml:"name"`
	Bytes  int64  `yaml:"bytes"`
	SHA256 string `yaml:"sha256"`
	// comparison with the published file: ok, differs, unverified
	State string `yaml:"state,omitempty"`
}
