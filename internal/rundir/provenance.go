package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"go.yaml.in/yaml/v3"

	"ppal/internal/disk"
	"ppal/trainer/session/results"
)

// ReadProvenance reads the provenance in config.yaml. sum is the SHA-256 of the file, in hex.
func (d Dir) ReadProvenance() (p results.Provenance, sum string, err error) {
	data, err := Seal{}.Read(d.Config())
	if err != nil {
		return p, "", err
	}
	p, err = d.ParseProvenance(data)
	return p, disk.Sum(data), err
}

// ParseProvenance returns the provenance in the text of config.yaml.
func (d Dir) ParseProvenance(config []byte) (results.Provenance, error) {
	var file struct {
		Provenance results.Provenance `yaml:"provenance"`
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
func (s *Sum) File(name string) results.DataFile {
	return results.DataFile{Name: name, Bytes: s.bytes, SHA256: hex.EncodeToString(s.hash.Sum(nil))}
}
