package datasets

import (
	"fmt"
	"ppal/internal/option"
	"slices"
)

// names finds the first of several names that equals a name. Files may have 100,000 columns.
type names struct {
	of   map[string]int
	next int // number of names in the map
}

// find returns the index of the first name that equals name, or -1. name(i) is name i of n. Names
// may be appended between two calls, and do not change otherwise.
func (p *names) find(wanted string, n int, name func(i int) string) int {
	if p.of == nil {
		p.of = make(map[string]int, n)
	}
	for ; p.next < n; p.next++ {
		if _, twice := p.of[name(p.next)]; !twice {
			p.of[name(p.next)] = p.next
		}
	}
	if i, ok := p.of[wanted]; ok {
		return i
	}
	return -1
}

// headerPlaces finds columns of a header by their names.
type headerPlaces struct {
	header   []string
	repeated []string // names that several columns may have: the first counts
	names    names
	counts   map[string]int // number of columns of each name
}

// column returns the index of the column. A name that several columns have is an error: their
// values may differ, and no rule says which one was meant.
func (h *headerPlaces) column(name string) (int, error) {
	at := h.names.find(name, len(h.header), func(i int) string { return h.header[i] })
	if at < 0 {
		return 0, noColumn(name, h.header)
	}
	if h.counts == nil {
		h.counts = make(map[string]int, len(h.header))
		for _, column := range h.header {
			h.counts[column]++
		}
	}
	if n := h.counts[name]; n > 1 && !slices.Contains(h.repeated, name) {
		return 0, fmt.Errorf("%w: %d columns are named %q; remove or rename all but one", ErrColumn, n, name)
	}
	return at, nil
}

// noColumn returns the error for an unknown column, with the column that has the nearest name and a
// list of the columns.
func noColumn(name string, header []string) error {
	guess := ""
	if near := option.Nearest(name, header); near != "" {
		guess = fmt.Sprintf("did you mean %q? ", near)
	}
	return fmt.Errorf("%w: no column %q; %sthe columns are %s", ErrColumn, name, guess, listed(header, 20))
}

// byPlace names a column by its place.
func byPlace(field int) string { return fmt.Sprintf("column %d", field+1) }

// numbersIn returns how many of the names are numbers.
func numbersIn(names []string) (n int) {
	for _, name := range names {
		_, is := number([]byte(name))
		n += indicator(is)
	}
	return n
}

// columnNames returns the names in a header. A column without a name is named by its place: "column
// 1".
func columnNames(header [][]byte) []string {
	names := make([]string, len(header))
	for i, field := range header {
		names[i] = string(field)
	}
	given := setOf(names)
	for i, name := range names {
		if name == "" {
			names[i] = byPlace(i)
			for given[names[i]] {
				names[i] += "'"
			}
		}
	}
	return names
}
