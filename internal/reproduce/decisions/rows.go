package decisions

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/disk"
	"ppal/trainer/session"
)

// Rows holds the rows of all splits of a table, split by split.
type Rows struct {
	Tables *tabular.Tables
	// labels, groups and splits hold a value for each row: the label (0 or 1), the group (1: the
	// first group of the table) and the split (0: training, 1: validation, 2: test)
	labels, groups, splits []uint8
	scores                 []float32 // of the trees; nil: no problem has given scores
	totals                 Counts
}

// scoresFile is the NumPy file of the trees' scores, in float32.
const scoresFile = "scores.npy"

// readScores reads the scores from a directory.
func (r *Rows) readScores(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, scoresFile))
	if err != nil {
		return err
	}
	size := 4 * len(r.labels)
	if len(data) < size || !strings.Contains(string(data[:len(data)-size]), "'<f4'") {
		return fmt.Errorf("%s: has no score in float32 for each of %d rows", filepath.Join(dir, scoresFile), len(r.labels))
	}
	r.scores = make([]float32, len(r.labels))
	_, err = binary.Decode(data[len(data)-size:], binary.LittleEndian, r.scores)
	return err
}

// scored returns the rows as a table of the score and the indicators of the two groups, and the
// features of each split.
func (r *Rows) scored() (session.Matrices, []matrix.Matrix) {
	var parts [3]*session.Matrix
	var features []matrix.Matrix
	from := 0
	for s, part := range r.Tables.Parts() {
		n := part.Rows()
		m, labels, groups := matrix.NewSingles(n, 3), make([]int, n), make([]int, n)
		for i := range n {
			labels[i], groups[i] = int(r.labels[from+i]), int(r.groups[from+i])
			m.Data[3*i], m.Data[3*i+1+groups[i]] = r.scores[from+i], 1
		}
		parts[s] = &session.Matrix{Features: m, Labels: labels, Attributes: []constraints.Attribute{{Name: attribute, Values: []string{"0", "1"}, Of: groups}}}
		features = append(features, m)
		from += n
	}
	return session.Matrices{Train: parts[0], Validation: parts[1], Test: parts[2], Classes: []string{"0", "1"},
		Columns: []string{"score", attribute + "=0", attribute + "=1"}}, features
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
	if err := disk.Write(filepath.Join(dir, "features.npy"), data, 0o644); err != nil {
		return err
	}
	for name, column := range map[string][]uint8{"labels": r.labels, "groups": r.groups, "splits": r.splits} {
		if err := disk.Write(filepath.Join(dir, name+".npy"), append(npyHeader("|u1", n), column...), 0o644); err != nil {
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
