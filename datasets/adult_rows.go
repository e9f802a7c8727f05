package datasets

import (
	"ppal/datasets/matrix"
	"strings"
)

// SparseAttributes makes attributes of new rows in LIBSVM's format for the named data set. The
// texts follow the rules of TableOptions.Attributes. values has the values of each attribute in the
// training; nil: the training had no such attribute.
func (p *Preparation) SparseAttributes(dataset string, x *matrix.CSR, texts []string, values [][]string) ([]Attribute, error) {
	d := &sparseDesign{shift: p.shift()}
	if strings.HasSuffix(dataset, adult().Name) {
		d = adultDesign()
	}
	attributes, _, err := d.attributes(x, texts)
	for k := range attributes {
		attributes[k].follow(values[k])
	}
	return attributes, err
}
