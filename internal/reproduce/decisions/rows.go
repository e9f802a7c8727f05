package decisions

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/atomicfile"
)

// Rows holds the rows of all splits of a table, split by split.
type Rows struct {
	Tables *tabular.Tables
	// labels, groups and splits hold a value for each row: the label (0 or 1), the group (1: the
	// first group of the table) and the split (0: training, 1: validation, 2: test)
	labels, groups, splits []uint8
	totals                 Counts
}

// loadRows reads a published table and splits its rows with a seed.
func loadRows(dir string, d Dataset, seed uint64) (*Rows, error) {
	t, err := datasets.LoadTable(dir, d.Name, tabular.TableOptions{Seed: seed, Ignore: d.Ignore, Groups: []string{d.Group}, Attributes: []string{d.Attribute}})
	if err != nil {
		return nil, err
	}
	r := &Rows{Tables: t}
	for s, part := range t.Parts() {
		protected, _, err := part.Partition()
		if err != nil {
			return nil, err
		}
		group := make([]uint8, part.Rows())
		for _, i := range protected.Rows {
			group[i] = 1
		}
		for i, y := range part.Labels {
			label := uint8(0)
			if y > 0 {
				label = 1
			}
			r.labels, r.groups, r.splits = append(r.labels, label), append(r.groups, group[i]), append(r.splits, uint8(s))
			r.totals[s][group[i]][label]++
		}
	}
	return r, nil
}

// Totals returns the number of rows of each cell.
func (r *Rows) Totals() Counts { return r.totals }

// Write writes the rows to a directory as NumPy files: features.npy [rows, columns] in float64,
// and labels.npy, groups.npy and splits.npy [rows] in uint8. The features are the prepared and
// standardised features that ppal uses for training.
func (r *Rows) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	n := len(r.labels)
	_, cols := r.Tables.Train.Features.Dims()
	data := npyHeader("<f8", n, cols)
	row := make([]float64, cols)
	for _, part := range r.Tables.Parts() {
		for i := range part.Rows() {
			part.Features.Float64(row, i, i+1)
			for _, x := range row {
				data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
			}
		}
	}
	if err := atomicfile.Write(filepath.Join(dir, "features.npy"), data, 0o644); err != nil {
		return err
	}
	for name, column := range map[string][]uint8{"labels": r.labels, "groups": r.groups, "splits": r.splits} {
		if err := atomicfile.Write(filepath.Join(dir, name+".npy"), append(npyHeader("|u1", n), column...), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// npyHeader returns the header of an array in NumPy's file format, version 1.0 (NEP 1): magic
// number, version, length and a Python dictionary, padded to a multiple of 64 bytes.
func npyHeader(dtype string, shape ...int) []byte {
	dims := ""
	for _, n := range shape {
		dims += fmt.Sprintf("%d, ", n)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", dtype, dims)
	const prefix = 10
	pad := 64 - (prefix+len(text)+1)%64
	text = fmt.Sprintf("%s%*s\n", text, pad, "")
	header := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), byte(len(text)>>8))
	return append(header, text...)
}
