package datasets

import (
	"fmt"
	"slices"

	"ppal/datasets/matrix"
)

// Division is a selection of images whose rows are divided into training and validation rows,
// before their pixels are read. Both parts keep the order of the rows.
type Division struct {
	Train, Validation Selection // Pixels is nil
	from              *Pictures
	places            []int // of the set's rows: training rows from 0, then validation rows; negative for others
	sums              *matrix.Tally
}

// Divide divides the chosen rows by the percentages of s. The shares of every class are those of s
// up to about one row, and the seed decides which rows are validation rows. The images have test
// rows of their own, so s.Test is 0.
//
// Errors wrap ErrSplit: the percentages are not valid, or a class is left without training or
// validation rows.
func (c *Choice) Divide(s Split, seed uint64) (*Division, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.Test != 0 {
		return nil, fmt.Errorf("datasets: %w %v; images have test rows of their own: the third percentage must be 0, as in 90/10/0", ErrSplit, s)
	}
	d := &Division{Train: c.empty(), Validation: c.empty(), from: c.from}
	labels := c.Labels()
	parts := s.rows(labels, seed)
	at := make([]int, len(labels)) // of a chosen row in places
	for k, part := range []*Selection{&d.Train, &d.Validation} {
		for i, row := range parts[k] {
			at[row] = k*len(parts[0]) + i
			part.Source = append(part.Source, c.Source[row])
			part.Offsets[labels[row]+1]++
		}
		for class := range c.Classes {
			if s.shares()[k] > 0 && part.Offsets[class+1] == 0 {
				return nil, fmt.Errorf("datasets: %w %v; the class %s has no %s rows left: change the percentages, or choose more rows of each class",
					ErrSplit, s, c.Names[class], partNames[k])
			}
			part.Offsets[class+1] += part.Offsets[class]
		}
	}
	d.places = slices.Clone(c.places)
	for r, place := range c.places {
		if place >= 0 {
			d.places[r] = at[place]
		}
	}
	return d, nil
}

// empty returns the selection without rows.
func (s *Selection) empty() Selection {
	return Selection{Classes: s.Classes, Names: s.Names, Offsets: make([]int, len(s.Offsets))}
}

// Rows returns the number of rows.
func (s *Selection) Rows() int { return s.Offsets[len(s.Classes)] }

// Read reads the images once and passes each row to the store of its part while the next rows are
// being read. Its errors are those of Choice.Read.
func (d *Division) Read(train, validation matrix.RowStore) (err error) {
	d.sums, err = d.from.read(d.places, d.Train.Rows(), joined{train, validation, d.Train.Rows()})
	return err
}

// Moments returns the result of the function Moments for the training rows, under PixelScale.
func (d *Division) Moments() (center []float64, deviation float64) { return d.sums.Moments(PixelScale) }

// joined is a store of the rows of two stores, one after the other.
type joined struct {
	first, second matrix.RowStore
	rows          int // of the first store
}

// SetRows implements matrix.RowStore.
func (j joined) SetRows(i int, rows [][]uint8) {
	cut := min(max(j.rows-i, 0), len(rows))
	if cut > 0 {
		j.first.SetRows(i, rows[:cut])
	}
	if cut < len(rows) {
		j.second.SetRows(max(i, j.rows)-j.rows, rows[cut:])
	}
}
