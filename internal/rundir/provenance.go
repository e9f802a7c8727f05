package rundir

// Provenance is what config.yaml tells beside the settings.
type Provenance struct {
	Version       string     `yaml:"version"`
	Out           string     `yaml:"out"`
	DataDir       string     `yaml:"data-dir,omitempty"`
	Data          []DataFile `yaml:"data"`
	Classes       []Part     `yaml:"classes"`
	Groups        []Part     `yaml:"groups,omitempty"`
	Features      int        `yaml:"features"`
	Parameters    int        `yaml:"parameters"`
	Normalization string     `yaml:"normalization"`
	Products      string     `yaml:"products"` // with the data, as they ran
	Bounds        []float64  `yaml:"bounds,flow"`
	Device        string     `yaml:"device,omitempty"`
	Warnings      []string   `yaml:"warnings,omitempty"`
	Notes         []string   `yaml:"notes,omitempty"`
}

// DataFile identifies data that were read: a file, with the checksum of its bytes, or a built-in set's rows.
type DataFile struct {
	Name   string `yaml:"name"`
	Bytes  int64  `yaml:"bytes"`
	SHA256 string `yaml:"sha256"`
	State  string `yaml:"state,omitempty"` // how a file compares with the published one: ok, differs, unverified
}

// Part is a class or a group with its numbers of rows in each split.
type Part struct {
	Name       string `yaml:"name"`
	Train      int    `yaml:"train"`
	Validation int    `yaml:"validation,omitempty"`
	Test       int    `yaml:"test"`
}
