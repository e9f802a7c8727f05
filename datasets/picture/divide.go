package picture

import (
	"fmt"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
)

// Division is a selection of images whose rows are divided into training and validation rows,
// before their pixels are read. Both parts keep the order of the rows.
type Division struct {
	Train, Validation Selection // Pixels is nil
	from              *Pictures
	Places            []int // target of each row of the set: training rows, then validation rows; negative: not chosen
	sums              *matrix.Tally
}

// Divide divides the chosen rows by the percentages of s. In every class the shares equal the
// percentages up to about one row. The seed decides which rows are validation rows. s.Test must be
// 0, because the pictures have test rows of their own.
//
// Errors wrap ErrSplit: the percentages are not valid, or a class is left without training or
// validation rows.
func (c *Choice) Divide(s tabular.Split, seed uint64) (*Division, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.Test != 0 {
		return nil, fmt.Errorf("datasets: %w %v; pictures have test rows of their own: the third percentage must be 0, as in 90/10/0", dataerr.ErrSplit, s)
	}
	d := &Division{Train: c.empty(), Validation: c.empty(), from: c.from}
	labels := c.Labels()
	parts := s.Rows(labels, seed)
	at := make([]int, len(labels)) // index in places of each chosen row
	for k, part := range []*Selection{&d.Train, &d.Validation} {
		part.Source = make([]int, 0, len(parts[k]))
		for i, row := range parts[k] {
			at[row] = k*len(parts[0]) + i
			part.Source = append(part.Source, c.Source[row])
			part.Offsets[labels[row]+1]++
		}
		for class := range c.Classes {
			if s.Shares()[k] > 0 && part.Offsets[class+1] == 0 {
				return nil, fmt.Errorf("datasets: %w %v; the class %s has no %s rows left: change the percentages, or choose more rows of each class",
					dataerr.ErrSplit, s, c.Names[class], tabular.PartNames[k])
			}
			part.Offsets[class+1] += part.Offsets[class]
		}
	}
	d.Places = make([]int, len(c.places))
	copy(d.Places, c.places)
	for r, place := range c.places {
		if place >= 0 {
			d.Places[r] = at[place]
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

// Read reads the images once. It passes each row to the store of the row's part while it reads the
// next rows. Read returns the same errors as Choice.Read.
func (d *Division) Read(train, validation matrix.RowStore) (err error) {
	d.sums, err = d.from.Read(d.Places, d.Train.Rows(), Joined{train, validation, d.Train.Rows()})
	return err
}

// Moments returns the result of the function Moments for the training rows, under PixelScale.
func (d *Division) Moments() (center []float64, deviation float64) { return d.sums.Moments(PixelScale) }

// Joined is a row store that concatenates two stores.
type Joined struct {
	First, Second matrix.RowStore
	Rows          int // rows of the first store
}

// SetRows implements matrix.RowStore.
func (j Joined) SetRows(i int, rows [][]uint8) {
	cut := min(max(j.Rows-i, 0), len(rows))
	if cut > 0 {
		j.First.SetRows(i, rows[:cut])
	}
	if cut < len(rows) {
		j.Second.SetRows(max(i, j.Rows)-j.Rows, rows[cut:])
	}
}
