package rundir

// Provenance describes the origin of a run. It stands in config.yaml beside the settings.
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
	Products      string     `yaml:"products"` // kind of products with the data matrix that ran
	Bounds        []float64  `yaml:"bounds,flow"`
	Device        string     `yaml:"device,omitempty"`
	Warnings      []string   `yaml:"warnings,omitempty"`
	Notes         []string   `yaml:"notes,omitempty"`
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

// Part is a class or a group with its number of rows in each split.
type Part struct {
	Name       string `yaml:"name"`
	Train      int    `yaml:"train"`
	Validation int    `yaml:"validation,omitempty"`
	Test       int    `yaml:"test"`
}
