package verify

import (
	"bytes"
	"path/filepath"
	"slices"

	"ppal/internal/disk"
	"ppal/internal/rundir"
	"ppal/trainer/session/results"
)

// rebuild compares the files with which a user applies the model, byte by byte, with files that the
// check builds from the settings and the data: preparation.yaml, rows.csv and model.json. Another
// version of the program may write other bytes.
func (c *check) rebuild(before results.Provenance) error {
	preparation, model := c.content[c.dir.Preparation()], c.content[c.dir.ModelDescription()]
	differs := func(name string, line int) {
		if before.Version != c.in.Version {
			c.report.skip("%s: the version %s of ppal wrote the run, and this is %s", name, before.Version, c.in.Version)
			return
		}
		c.report.problem("%s differs from the settings and the data in line %d", name, line)
	}
	switch {
	case c.in.Preparation == nil && preparation != nil:
		c.report.problem("preparation.yaml belongs to another run: this run prepares no columns")
	case c.in.Preparation != nil:
		want, err := rundir.PreparationText(*c.in.Preparation)
		if err != nil {
			return err
		}
		if !bytes.Equal(want, preparation) {
			differs("preparation.yaml", firstLine(want, preparation))
		}
	}
	rows := rundir.RowsName(c.in.Members)
	if data := c.content[filepath.Join(string(c.dir), rows)]; c.in.Members != nil {
		line, same, err := rundir.SameRows(data, c.in.Members)
		if err != nil {
			return err
		}
		if !same {
			differs(rows, line)
		}
	}
	if model == nil {
		c.report.skip("model.json: an earlier version of ppal wrote the run without it")
		return nil
	}
	own, _, err := c.dir.ParseModel(model)
	if err != nil {
		return err
	}
	want := c.in.ModelFile(before.Version, c.summary.Outcome)
	if want.Schema, want.Files = own.Schema, map[string]string{}; c.in.Members != nil {
		want.Rows = rows
	}
	for _, path := range []string{c.dir.Model(), c.dir.Preparation()} {
		if data := c.content[path]; data != nil && own.Schema > 1 {
			want.Files[filepath.Base(path)] = disk.Sum(data)
		}
	}
	text, err := rundir.ModelText(want)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, model) {
		differs("model.json", firstLine(text, model))
	}
	return nil
}

// provenance compares what the data and the task decide in the provenance of config.yaml.
func (c *check) provenance(before results.Provenance) {
	now := &c.in.Provenance
	same := func(key string, equal bool) {
		if !equal {
			c.report.problem("config.yaml: %s in provenance differs from the settings and the data", key)
		}
	}
	same("classes", slices.Equal(before.Classes, now.Classes))
	same("groups", slices.Equal(before.Groups, now.Groups))
	same("features", before.Features == now.Features)
	same("parameters", before.Parameters == len(c.output.as(true, nil).flat()))
	same("normalization", before.Normalization == now.Normalization)
	same("bounds", slices.Equal(before.Bounds, now.Bounds))
	same("constraints", slices.Equal(before.Constraints, now.Constraints))
	same("schema", before.Schema == rundir.Schema)
	same("products", before.Products == c.summary.Products)
	same("version", before.Version == c.summary.Version)
}

// firstLine returns the number of the first line in which two texts differ.
func firstLine(a, b []byte) int {
	k := 0
	for k < len(a) && k < len(b) && a[k] == b[k] {
		k++
	}
	return 1 + bytes.Count(a[:k], []byte("\n"))
}
