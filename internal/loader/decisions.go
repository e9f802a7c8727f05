package loader

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/internal/recordio"
)

// ReadDecisions reads a file of decisions in the format of ppal predict: text with the column row,
// from 1, and the column decision or class. texts holds the texts of each class, such as its name
// and the value of the label. The result maps the number of a row, from 0, to the index of the
// decided class. Errors are *FileError and wrap ErrColumn, ErrFormat, ErrIndex or ErrLabel.
func ReadDecisions(path string, texts ...[]string) (map[int]int, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, recordio.FileError(path, err)
	}
	defer f.Close()
	r := csv.NewReader(recordio.Steady(f))
	failed := func(line int, err error) error {
		return &dataerr.FileError{Path: path, Offset: -1, Line: line, Err: err}
	}
	header, err := r.Read()
	if err != nil {
		return nil, failed(1, fmt.Errorf("%w: %w", dataerr.ErrFormat, err))
	}
	decided := "decision"
	if !slices.Contains(header, decided) {
		decided = "class"
	}
	if !slices.Contains(header, "row") || !slices.Contains(header, decided) {
		return nil, failed(1, fmt.Errorf("%w: want the columns row and decision, or row and class, as ppal predict writes them; the columns are %s",
			dataerr.ErrColumn, strings.Join(header, ", ")))
	}
	places := recordio.HeaderPlaces{Header: header}
	row, err := places.Column("row")
	decision, twice := places.Column(decided)
	if err = cmp.Or(err, twice); err != nil {
		return nil, failed(1, err)
	}
	decisions := map[int]int{}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return decisions, nil
		}
		if errors.Is(err, dataerr.ErrChanged) {
			return nil, err
		}
		if err != nil {
			return nil, failed(0, fmt.Errorf("%w: %w", dataerr.ErrFormat, err))
		}
		line, _ := r.FieldPos(0)
		n, err := strconv.Atoi(record[row])
		if err != nil || n < 1 {
			return nil, failed(line, fmt.Errorf("%w: row is %q, want a number from 1", dataerr.ErrIndex, record[row]))
		}
		class := slices.IndexFunc(texts, func(spellings []string) bool { return slices.Contains(spellings, record[decision]) })
		if class < 0 {
			return nil, failed(line, fmt.Errorf("%w: decision is %q, want one of %s", dataerr.ErrLabel, record[decision], strings.Join(slices.Concat(texts...), ", ")))
		}
		if _, twice := decisions[n-1]; twice {
			return nil, failed(line, fmt.Errorf("%w: row %d has a decision already", dataerr.ErrIndex, n))
		}
		decisions[n-1] = class
	}
}
