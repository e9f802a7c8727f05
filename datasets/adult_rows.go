package datasets

import (
	"strings"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/loader"
)

// SparseAttributes makes attributes of new rows in LIBSVM's format for the named data set. The
// texts follow the rules of TableOptions.Attributes. values has the values of each attribute in the
// training; nil: the training had no such attribute.
func SparseAttributes(p *tabular.Preparation, dataset string, x *matrix.CSR, texts []string, values [][]string) ([]tabular.Attribute, error) {
	d := &loader.SparseDesign{Shift: p.Shift()}
	if strings.HasSuffix(dataset, adult().Name) {
		d = adultDesign()
	}
	attributes, _, err := d.Attributes(x, texts)
	for k := range attributes {
		attributes[k].Follow(values[k])
	}
	return attributes, err
}
