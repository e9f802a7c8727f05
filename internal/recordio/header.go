package recordio

import (
	"fmt"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/internal/option"
	"ppal/internal/textvalue"
	"ppal/internal/vec"
)

// Names finds the first of several names that equals a name. Files may have 100,000 columns.
type Names struct {
	places map[string]int
	next   int // number of names in the map
}

// Find returns the index of the first name that equals name, or -1. name(i) is name i of n. Names
// may be appended between two calls, and do not change otherwise.
func (p *Names) Find(wanted string, n int, name func(i int) string) int {
	if p.places == nil {
		p.places = make(map[string]int, n)
	}
	for ; p.next < n; p.next++ {
		if _, twice := p.places[name(p.next)]; !twice {
			p.places[name(p.next)] = p.next
		}
	}
	if i, ok := p.places[wanted]; ok {
		return i
	}
	return -1
}

// HeaderPlaces finds columns of a header by their names.
type HeaderPlaces struct {
	Header   []string
	Repeated []string // names that several columns may have: the first counts
	names    Names
	counts   map[string]int // number of columns of each name
}

// Column returns the index of the column. A name that several columns have is an error: their
// values may differ, and no rule says which one was meant.
func (h *HeaderPlaces) Column(name string) (int, error) {
	at := h.names.Find(name, len(h.Header), func(i int) string { return h.Header[i] })
	if at < 0 {
		return 0, NoColumn(name, h.Header)
	}
	if h.counts == nil {
		h.counts = make(map[string]int, len(h.Header))
		for _, column := range h.Header {
			h.counts[column]++
		}
	}
	if n := h.counts[name]; n > 1 && !slices.Contains(h.Repeated, name) {
		return 0, fmt.Errorf("%w: %d columns are named %q; remove or rename all but one", dataerr.ErrColumn, n, name)
	}
	return at, nil
}

// NoColumn returns the error for an unknown column, with the column that has the nearest name and a
// list of the columns. An array of two dimensions has the columns NAME0, NAME1, ...
func NoColumn(name string, header []string) error {
	guess := ""
	if first := name + "0"; slices.Contains(header, first) {
		guess = fmt.Sprintf("did you mean %q? an array of two dimensions, also of one column, gives such names; ", first)
	} else if near := option.Nearest(name, header); near != "" {
		guess = fmt.Sprintf("did you mean %q? ", near)
	}
	return &dataerr.UnknownColumn{Name: name, Hint: guess + "the columns are " + textvalue.Listed(header, 20)}
}

// ByPlace names a column by its place.
func ByPlace(field int) string { return fmt.Sprintf("column %d", field+1) }

// numbersIn returns how many of the names are numbers.
func numbersIn(names []string) (n int) {
	for _, name := range names {
		_, is := textvalue.Number([]byte(name))
		n += vec.Indicator(is)
	}
	return n
}

// ColumnNames returns the names in a header. A column without a name is named by its place: "column
// 1".
func ColumnNames(header [][]byte) []string {
	names := make([]string, len(header))
	for i, field := range header {
		names[i] = string(field)
	}
	given := textvalue.SetOf(names)
	for i, name := range names {
		if name == "" {
			names[i] = ByPlace(i)
			for given[names[i]] {
				names[i] += "'"
			}
		}
	}
	return names
}
