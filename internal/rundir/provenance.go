package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"go.yaml.in/yaml/v3"

	"ppal/internal/seal"
)

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

// ReadProvenance reads the provenance in config.yaml. sum is the SHA-256 of the file, in hex.
func (d Dir) ReadProvenance() (p Provenance, sum string, err error) {
	data, err := Seal{}.Read(d.Config())
	if err != nil {
		return p, "", err
	}
	p, err = d.ParseProvenance(data)
	return p, seal.Sum(data), err
}

// ParseProvenance returns the provenance in the text of config.yaml.
func (d Dir) ParseProvenance(config []byte) (Provenance, error) {
	var file struct {
		Provenance Provenance `yaml:"provenance"`
	}
	if err := yaml.Unmarshal(config, &file); err != nil {
		return file.Provenance, fmt.Errorf("rundir: %s: %w", d.Config(), err)
	}
	return file.Provenance, nil
}

// Sum identifies the bytes that are written to it.
type Sum struct {
	hash  hash.Hash
	bytes int64
}

// NewSum returns the Sum of no bytes.
func NewSum() *Sum { return &Sum{hash: sha256.New()} }

// Write implements io.Writer. The error is always nil.
func (s *Sum) Write(data []byte) (int, error) {
	s.bytes += int64(len(data))
	return s.hash.Write(data)
}

// File returns the identity of a file with the bytes so far.
func (s *Sum) File(name string) DataFile {
	return DataFile{Name: name, Bytes: s.bytes, SHA256: hex.EncodeToString(s.hash.Sum(nil))}
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

// Split names a part of the rows.
type Split string

// The splits.
const (
	Training   Split = "train"
	Validation Split = "validation"
	Test       Split = "test"
)

// Word names the split in a sentence: training, validation or test.
func (s Split) Word() string {
	if s == Training {
		return "training"
	}
	return string(s)
}

// Splits lists the splits in their order.
func Splits() []Split { return []Split{Training, Validation, Test} }

// SplitSizes is a class, a group or all rows, with the number of rows in each split.
type SplitSizes struct {
	Name       string `yaml:"name"`
	Train      int    `yaml:"train"`
	Validation int    `yaml:"validation,omitempty"`
	Test       int    `yaml:"test"`
}

// Set sets the number of rows in a split.
func (s *SplitSizes) Set(split Split, rows int) {
	switch split {
	case Training:
		s.Train = rows
	case Validation:
		s.Validation = rows
	case Test:
		s.Test = rows
	}
}
