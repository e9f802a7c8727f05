package newrows

import (
	"fmt"
	"io"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/loader"
	"ppal/internal/recordio"
)

// readLIBSVM reads rows in LIBSVM's format. A row may lack its label unless Keep lists the label.
func (n *NewRows) readLIBSVM(r io.Reader, name string) error {
	text, err := recordio.OpenSparse(r, name)
	if err != nil {
		return err
	}
	p := n.Preparation
	place := make([]int, p.Indices) // the feature of each index; -1: none
	for j := range place {
		place[j] = -1
	}
	for feature, index := range p.Numbers {
		place[index-1] = feature
	}
	keep := make([]int, len(n.Keep)) // the kept columns; -1: the label; ofQuery: the query
	for k, text := range n.Keep {
		if text == "" || text == tabular.QueryID {
			if keep[k] = -1; text != "" {
				keep[k] = ofQuery
			}
			continue
		}
		found, err := (&loader.SparseDesign{Shift: p.Shift()}).Find([]string{text}, p.Indices)
		if err != nil {
			return &dataerr.FileError{Path: name, Offset: -1, Err: err}
		}
		keep[k] = int(found[0])
	}
	return n.inOrder(name, n.Keep, text.Next, len(p.Numbers), func() decoder {
		rows := recordio.SparseReader{Name: name, Cols: len(place), Shift: p.Shift(), Unlabelled: true, Zeros: true}
		if n.IgnoreUnknown {
			rows.Cols = 0
		}
		return &sparseRows{SparseReader: rows, place: place, keep: keep, preparation: p}
	})
}

// ofQuery stands for the query among the kept columns.
const ofQuery = -2

// sparseRows are rows in LIBSVM's format.
type sparseRows struct {
	recordio.SparseReader
	place       []int
	keep        []int
	preparation *tabular.Preparation
	row         recordio.Entries // of the last row
}

// each implements decoder.
func (s *sparseRows) each(c recordio.Chunk, visit func() error) error { return s.Each(c, visit) }

// lacks implements decoder.
func (s *sparseRows) lacks() bool { return false }

// encode implements decoder.
func (s *sparseRows) encode(features []float64) (unknown int, err error) {
	s.row.Reset()
	if err := s.Append(&s.row); err != nil {
		return 0, s.Fail(err)
	}
	if _, err := s.Query(); err != nil {
		return 0, s.Fail(err)
	}
	if label, _ := s.Label(); label == nil && slices.Contains(s.keep, -1) {
		return 0, s.Fail(fmt.Errorf("%w: the row has no label", dataerr.ErrMissing))
	}
	for e, column := range s.row.Columns {
		if int(column) >= len(s.place) {
			unknown++
		} else if place := s.place[column]; place >= 0 {
			features[place] = s.row.Value(e)
		}
	}
	s.preparation.Singly(features)
	return unknown, nil
}

// kept implements decoder: the label, the query ("" without one), or whether the row has a feature.
func (s *sparseRows) kept(column int) []byte {
	if s.keep[column] == ofQuery {
		query, _ := s.Query() // encode has checked it
		return query
	}
	if s.keep[column] < 0 {
		label, _ := s.Label()
		return label
	}
	if e, has := slices.BinarySearch(s.row.Columns, int32(s.keep[column])); has && s.row.Value(e) != 0 {
		return []byte("1")
	}
	return []byte("0")
}
