package rundir

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"

	"ppal/datasets/dataerr"
	"ppal/trainer/session/results"
)

// preparationHead is the comment at the head of the file.
const preparationHead = `# How the columns of a table became the model's inputs. features lists the inputs in order.
# encodings: a numeric column becomes one input, (x - center)/scale. A categorical column becomes
# one input for each level (for all categories if no levels are given), which is 1 for rows with
# that level and 0 for other rows. With missing, a column may lack values: its inputs are then 0,
# and one additional input after them is 1. numbers: the inputs are the listed indices, out of the
# given number of indices, of rows in LIBSVM's format. pictures: the inputs are the pixels of the
# picture that the column names, channel by channel, times 1/255.
`

// PreparationText returns the content of preparation.yaml.
func PreparationText(p results.Preparation) ([]byte, error) {
	data, err := yaml.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("rundir: %w", err)
	}
	return append([]byte(preparationHead), data...), nil
}

// WritePreparation writes preparation.yaml, unless the directory has the same file.
func (d Dir) WritePreparation(p results.Preparation) error {
	data, err := PreparationText(p)
	if err != nil {
		return err
	}
	if have, err := (Seal{}).Read(d.Preparation()); err == nil && bytes.Equal(have, data) {
		return nil
	}
	return WriteFile(d.Preparation(), data)
}

// ReadPreparation reads preparation.yaml, and compares it with the checksum of the seal. It returns
// dataerr.ErrFormat if the file is not a preparation, and dataerr.ErrColumn if the preparation is
// not valid. Other errors are those of Seal.Read.
func (d Dir) ReadPreparation(sealed Seal) (results.Preparation, error) {
	var p results.Preparation
	data, err := sealed.Read(d.Preparation())
	if err != nil {
		return p, err
	}
	in := yaml.NewDecoder(bytes.NewReader(data))
	in.KnownFields(true)
	if err := in.Decode(&p); err != nil {
		return p, fmt.Errorf("rundir: %s: %w: %v", d.Preparation(), dataerr.ErrFormat, err)
	}
	if err := p.Check(); err != nil {
		return p, fmt.Errorf("rundir: %s: %w", d.Preparation(), err)
	}
	return p, nil
}
