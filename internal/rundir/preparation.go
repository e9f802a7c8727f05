package rundir

import (
	"bytes"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"

	"ppal/datasets"
)

// Preparation is what preparation.yaml holds: how the columns of a table became the model's inputs. The weights of model.safetensors
// act on rows that were prepared so.
type Preparation struct {
	Features             []string `yaml:"features"` // the inputs' names, in order
	datasets.Preparation `yaml:",inline"`
}

// preparationHead explains the file to its reader.
const preparationHead = `# How the columns of a table became the model's inputs, which are listed under features, in order.
# encodings: a column of numbers is one input, (x - center)/scale; one of categories an input for each level (of all categories where
# levels are not given), 1 where the column is that level and else 0. With missing, a column may lack values: its inputs are 0 then, and
# one more input after them is 1. numbers: the inputs are these indices, of so many, of rows in LIBSVM's format.
`

// WritePreparation writes preparation.yaml.
func (d Dir) WritePreparation(p Preparation) error {
	data, err := yaml.Marshal(p)
	if err != nil {
		return fmt.Errorf("rundir: %w", err)
	}
	return WriteFile(d.Preparation(), append([]byte(preparationHead), data...))
}

// ReadPreparation reads preparation.yaml. A file that is not one is datasets.ErrFormat, with a preparation of no use datasets.ErrColumn.
func (d Dir) ReadPreparation() (Preparation, error) {
	var p Preparation
	data, err := os.ReadFile(d.Preparation())
	if err != nil {
		return p, fmt.Errorf("rundir: %w", err)
	}
	in := yaml.NewDecoder(bytes.NewReader(data))
	in.KnownFields(true)
	if err := in.Decode(&p); err != nil {
		return p, fmt.Errorf("rundir: %s: %w: %v", d.Preparation(), datasets.ErrFormat, err)
	}
	if err := p.Check(); err != nil {
		return p, fmt.Errorf("rundir: %s: %w", d.Preparation(), err)
	}
	return p, nil
}
