package rundir

import (
	"bytes"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"

	"ppal/datasets"
)

// Preparation is the content of preparation.yaml: how the columns of a table became the model's
// inputs. The weights of model.safetensors act on rows that were prepared in this way.
type Preparation struct {
	Features             []string `yaml:"features"` // the inputs' names, in order
	datasets.Preparation `yaml:",inline"`
}

// preparationHead is the comment at the head of the file.
const preparationHead = `# How the columns of a table became the model's inputs. features lists the inputs in order.
# encodings: a numeric column becomes one input, (x - center)/scale. A categorical column becomes
# one input for each level (for all categories if no levels are given), which is 1 for rows with
# that level and 0 for other rows. With missing, a column may lack values: its inputs are then 0,
# and one additional input after them is 1. numbers: the inputs are the listed indices, out of the
# given number of indices, of rows in LIBSVM's format.
`

// WritePreparation writes preparation.yaml.
func (d Dir) WritePreparation(p Preparation) error {
	data, err := yaml.Marshal(p)
	if err != nil {
		return fmt.Errorf("rundir: %w", err)
	}
	return WriteFile(d.Preparation(), append([]byte(preparationHead), data...))
}

// ReadPreparation reads preparation.yaml. It returns datasets.ErrFormat if the file is not a
// preparation, and datasets.ErrColumn if the preparation is not valid.
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
