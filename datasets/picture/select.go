package picture

import (
	"fmt"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
)

// Selection holds some classes of a data set, with rows grouped by class. A Neyman-Pearson problem
// minimises the loss of the first class.
type Selection struct {
	Pixels  *matrix.Bytes
	Classes []int    // the set's class numbers, in the order asked for
	Names   []string // their names
	Offsets []int    // the rows of Classes[i] are Offsets[i] to Offsets[i+1] (exclusive)
	Source  []int    // each row's number in the set, from 0; nil: not known
}

// Labels returns the rows' classes, as indices into Classes.
func (s *Selection) Labels() []int {
	labels := make([]int, s.Offsets[len(s.Classes)])
	for k := range s.Classes {
		for i := s.Offsets[k]; i < s.Offsets[k+1]; i++ {
			labels[i] = k
		}
	}
	return labels
}

// Select copies the first rowsPerClass rows of every given class, with the classes in the given
// order. 0 selects all rows; a class with fewer rows gives all its rows.
//
// Errors wrap ErrClass (fewer than two classes, a class given twice, not declared or without rows,
// a negative rowsPerClass) or ErrLabel (a row has a label that the data set does not declare).
func Select(set *Images, classes []int, rowsPerClass int) (*Selection, error) {
	sel, taken, err := choose(set.Labels, set.Classes, classes, rowsPerClass)
	if err != nil {
		return nil, err
	}
	cols := set.Pixels.Cols
	data := make([]uint8, 0, sel.Offsets[len(classes)]*cols)
	for _, r := range taken {
		data = append(data, set.Pixels.Data[r*cols:(r+1)*cols]...)
	}
	sel.Pixels = &matrix.Bytes{Rows: len(taken), Cols: cols, Data: data, Scale: set.Pixels.Scale}
	return &sel, nil
}

// Choice is a selection of images before their pixels are read; Pixels is nil.
type Choice struct {
	Selection
	from   *Pictures
	places []int // row in the selection of each row of the set; negative: not chosen
	sums   *matrix.Tally
}

// Choose selects rows like Select, before the pixels are read.
func (p *Pictures) Choose(classes []int, rowsPerClass int) (*Choice, error) {
	sel, taken, err := choose(p.Labels, p.Classes, classes, rowsPerClass)
	if err != nil {
		return nil, err
	}
	c := &Choice{Selection: sel, from: p, places: make([]int, len(p.Labels))}
	for i := range c.places {
		c.places[i] = -1
	}
	for at, r := range taken {
		c.places[r] = at
	}
	return c, nil
}

// Dims returns the numbers of rows and columns.
func (c *Choice) Dims() (rows, cols int) { return c.Rows(), c.from.Shape.Pixels() }

// Read reads the images once and passes each selected row to the store while the next rows are
// being read. It returns the same errors about files as OpenImages. After an error the store holds
// only some of the rows.
func (c *Choice) Read(to matrix.RowStore) (err error) {
	c.sums, err = c.from.Read(c.places, c.Rows(), to)
	return err
}

// Moments returns the result of the function Moments for the rows that were read, under PixelScale.
func (c *Choice) Moments() (center []float64, deviation float64) { return c.sums.Moments(PixelScale) }

// choose returns a selection without pixels, and the numbers of the selected rows in the set.
func choose(labels []uint8, declared []string, classes []int, rowsPerClass int) (sel Selection, taken []int, err error) {
	if err := checkClasses(declared, classes, rowsPerClass); err != nil {
		return sel, nil, err
	}
	source, offsets, err := firstRows(labels, len(declared), classes, rowsPerClass)
	if err != nil {
		return sel, nil, err
	}
	sel = Selection{Classes: slices.Clone(classes), Offsets: offsets, Source: source}
	for i, class := range classes {
		if offsets[i] == offsets[i+1] {
			return sel, nil, fmt.Errorf("datasets: %w: class %d (%s) has no rows here; choose from %v",
				dataerr.ErrClass, class, declared[class], ClassesWithRows(labels, len(declared)))
		}
		sel.Names = append(sel.Names, declared[class])
	}
	return sel, sel.Source, nil
}

// checkClasses returns ErrClass for classes or a row limit that Select does not accept.
func checkClasses(declared []string, classes []int, rowsPerClass int) error {
	if len(classes) < 2 {
		return fmt.Errorf("datasets: %w: %d classes given; name at least two", dataerr.ErrClass, len(classes))
	}
	if rowsPerClass < 0 {
		return fmt.Errorf("datasets: %w: %d rows per class; give 0 for all, or a positive number",
			dataerr.ErrClass, rowsPerClass)
	}
	for i, class := range classes {
		if class < 0 || class >= len(declared) {
			return fmt.Errorf("datasets: %w: class %d is not declared; choose from 0 to %d",
				dataerr.ErrClass, class, len(declared)-1)
		}
		if slices.Contains(classes[:i], class) {
			return fmt.Errorf("datasets: %w: class %d is given twice; name it once", dataerr.ErrClass, class)
		}
	}
	return nil
}

// firstRows returns, for every class, its first limit rows, or all its rows if limit is 0. The rows
// of classes[k] are rows[offsets[k]] to rows[offsets[k+1]-1].
func firstRows(labels []uint8, declared int, classes []int, limit int) (rows, offsets []int, err error) {
	place := make([]int, declared)
	for i := range place {
		place[i] = slices.Index(classes, i)
	}
	counts := make([]int, len(classes))
	for r, label := range labels {
		if int(label) >= len(place) {
			return nil, nil, fmt.Errorf("datasets: row %d: %w: label %d, classes 0 to %d are declared; correct the file",
				r, dataerr.ErrLabel, label, len(place)-1)
		}
		if p := place[label]; p >= 0 && (limit == 0 || counts[p] < limit) {
			counts[p]++
		}
	}
	offsets = make([]int, len(classes)+1)
	for k, n := range counts {
		offsets[k+1] = offsets[k] + n
	}
	rows, next := make([]int, offsets[len(classes)]), slices.Clone(offsets)
	for r, label := range labels {
		if p := place[label]; p >= 0 && next[p] < offsets[p+1] {
			rows[next[p]] = r
			next[p]++
		}
	}
	return rows, offsets, nil
}

// ClassesWithRows returns the classes that are not empty.
func ClassesWithRows(labels []uint8, declared int) []int {
	var present []int
	for class, n := range Count(labels, declared) {
		if n > 0 {
			present = append(present, class)
		}
	}
	return present
}
