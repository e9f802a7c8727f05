package cmd

import (
	"context"
	"fmt"

	"go.yaml.in/yaml/v3"

	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/rundir"
	"ppal/internal/seal"
	"ppal/trainer/session"
)

// dataSums returns the checksums of the files from which a run reads its data and its initial
// weights. Built-in data have no files. A missing file has no checksum; the run reports it.
func (a *app) dataSums(ctx context.Context, cfg config.Train) ([]session.DataFile, error) {
	dir, err := datasets.DirOf(cfg.Dataset, cfg.DataDir, a.getenv)
	if err != nil {
		return nil, err
	}
	options := cfg.TableOptions()
	var own []string
	if d, err := datasets.Lookup(cfg.Dataset); err == nil && d.Own {
		own = options.OwnFiles()
	}
	report, err := datasets.Verify(ctx, dir, cfg.Dataset, own...)
	if err != nil {
		return nil, err
	}
	var sums []session.DataFile
	for _, f := range report.Files {
		sums = append(sums, session.DataFile{Name: f.File.Path, Bytes: f.Size, SHA256: f.SHA256, State: f.State.String()})
	}
	if cfg.Session.Init == "" {
		return sums, nil
	}
	data, err := seal.ReadUpTo(cfg.Session.Init, seal.Weights)
	if err != nil {
		return sums, nil // the run reports the error
	}
	sum := rundir.NewSum()
	sum.Write(data)
	return append(sums, sum.File(cfg.Session.Init)), nil
}

// origin returns the part of sweep.yaml that names the version of the program and the data.
func origin(sums []session.DataFile) ([]byte, error) {
	text, err := yaml.Marshal(struct {
		Version string             `yaml:"version"`
		Data    []session.DataFile `yaml:"data,omitempty"`
	}{version(), sums})
	if err != nil {
		return nil, fmt.Errorf("sweep.yaml: %w", err)
	}
	return append([]byte("---\n"), text...), nil
}
