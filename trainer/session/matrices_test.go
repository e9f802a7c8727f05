package session

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"ppal/datasets/matrix"
	"ppal/trainer/problem"
)

// The caller's own arrays are refused if they are missing, too short or not finite, with the split,
// the row and the column.
func TestMatricesAreChecked(t *testing.T) {
	rows := func(change func(m *Matrix, d *matrix.Dense)) *Matrix {
		d := &matrix.Dense{Rows: 4, Cols: 2, Data: []float64{1, 2, 3, 4, 5, 6, 7, 8}}
		m := &Matrix{Features: d, Labels: []int{-1, 1, -1, 1}}
		change(m, d)
		return m
	}
	right := rows(func(*Matrix, *matrix.Dense) {})
	for _, c := range []struct {
		name string
		data Matrices
		want string
	}{
		{"none", Matrices{}, "without training rows"},
		{"no features", Matrices{Train: rows(func(m *Matrix, _ *matrix.Dense) { m.Features = nil })}, "the train rows: invalid session options: the matrix has no features"},
		{"nil features", Matrices{Train: rows(func(m *Matrix, _ *matrix.Dense) { m.Features = (*matrix.Dense)(nil) })}, "the matrix is nil"},
		{"short", Matrices{Train: rows(func(_ *Matrix, d *matrix.Dense) { d.Data = d.Data[:7] })}, "Data has 7 numbers, want 8"},
		{"NaN", Matrices{Train: rows(func(_ *Matrix, d *matrix.Dense) { d.Data[5] = math.NaN() })}, "row 2, column 1, counted from 0, is NaN"},
		{"infinite test row", Matrices{Train: right, Columns: []string{"age", "income"},
			Test: rows(func(_ *Matrix, d *matrix.Dense) { d.Data[3] = math.Inf(1) })}, "the test rows: invalid session options: the feature in row 1, column 1 (income)"},
		{"few labels", Matrices{Train: rows(func(m *Matrix, _ *matrix.Dense) { m.Labels = m.Labels[:3] })}, "4 rows and 3 labels"},
	} {
		_, err := c.data.Load(context.Background(), Request{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrOptions) || !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := (Matrices{Train: right}).Load(context.Background(), Request{}); err != nil {
		t.Error(err)
	}
}
