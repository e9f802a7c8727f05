package datasets

import (
	"fmt"
	"slices"
)

// Selection is some classes of a set, rows grouped by class. The first class
// is the one whose loss a Neyman-Pearson problem minimises.
type Selection struct {
	Pixels  *Bytes
	Classes []int    // the set's class numbers, in the order asked for
	Names   []string // their names
	Offsets []int    // the rows of Classes[i] are Offsets[i] to Offsets[i+1] (exclusive)
}

// Select takes the first rowsPerClass rows of every given class, the classes
// in the order given; 0 takes all rows, and a class with fewer rows gives all
// that it has. The set is not changed, the selected rows are copied.
//
// Errors wrap ErrClass (fewer than two classes, one named twice, one not
// declared, one without rows, a negative rowsPerClass) or ErrLabel (a row of
// the set has a label that the set does not declare).
func Select(set *Images, classes []int, rowsPerClass int) (*Selection, error) {
	if err := checkClasses(set, classes, rowsPerClass); err != nil {
		return nil, err
	}
	taken, err := firstRows(set, classes, rowsPerClass)
	if err != nil {
		return nil, err
	}
	sel := &Selection{
		Classes: slices.Clone(classes),
		Offsets: make([]int, 1, len(classes)+1),
	}
	for i, class := range classes {
		if len(taken[i]) == 0 {
			return nil, fmt.Errorf("datasets: %w: class %d (%s) has no rows here; choose from %v",
				ErrClass, class, set.Classes[class], classesWithRows(set))
		}
		sel.Names = append(sel.Names, set.Classes[class])
		sel.Offsets = append(sel.Offsets, sel.Offsets[i]+len(taken[i]))
	}
	cols := set.Pixels.Cols
	rows := sel.Offsets[len(classes)]
	data := make([]uint8, 0, rows*cols)
	for _, indices := range taken {
		for _, r := range indices {
			data = append(data, set.Pixels.Data[r*cols:(r+1)*cols]...)
		}
	}
	sel.Pixels = &Bytes{Rows: rows, Cols: cols, Data: data, Scale: set.Pixels.Scale}
	return sel, nil
}

// checkClasses refuses requests that no rows could meet.
func checkClasses(set *Images, classes []int, rowsPerClass int) error {
	if len(classes) < 2 {
		return fmt.Errorf("datasets: %w: %d classes given; name at least two", ErrClass, len(classes))
	}
	if rowsPerClass < 0 {
		return fmt.Errorf("datasets: %w: %d rows per class; give 0 for all, or a positive number",
			ErrClass, rowsPerClass)
	}
	for i, class := range classes {
		if class < 0 || class >= len(set.Classes) {
			return fmt.Errorf("datasets: %w: class %d is not declared; choose from 0 to %d",
				ErrClass, class, len(set.Classes)-1)
		}
		if slices.Contains(classes[:i], class) {
			return fmt.Errorf("datasets: %w: class %d is given twice; name it once", ErrClass, class)
		}
	}
	return nil
}

// firstRows returns, for every class, the numbers of its first limit rows (all
// when limit is 0).
func firstRows(set *Images, classes []int, limit int) ([][]int, error) {
	place := make([]int, len(set.Classes))
	for i := range place {
		place[i] = slices.Index(classes, i)
	}
	taken := make([][]int, len(classes))
	for r, label := range set.Labels {
		if int(label) >= len(place) {
			return nil, fmt.Errorf("datasets: row %d: %w: label %d, classes 0 to %d are declared; correct the file",
				r, ErrLabel, label, len(place)-1)
		}
		p := place[label]
		if p >= 0 && (limit == 0 || len(taken[p]) < limit) {
			taken[p] = append(taken[p], r)
		}
	}
	return taken, nil
}

// classesWithRows lists the classes that are not empty.
func classesWithRows(set *Images) []int {
	var present []int
	for class, n := range set.Counts() {
		if n > 0 {
			present = append(present, class)
		}
	}
	return present
}
