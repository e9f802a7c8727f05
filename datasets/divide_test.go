package datasets

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/require"
)

// TestDivision checks that a division stores every chosen row once, in the right part. Each part
// has its share of every class, and the moments are the moments of the training rows.
func TestDivision(t *testing.T) {
	for name, dir := range pictureSets(t) {
		if strings.HasPrefix(name, "cifar10") {
			continue // the fixtures have only one row of most classes
		}
		for _, processors := range []int{1, 3} {
			t.Run(fmt.Sprint(name, processors), func(t *testing.T) {
				if processors == 1 {
					require.NoRace(t, "the runs on three processors have the same goroutines")
				}
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				checkDivision(t, dir, strings.Fields(name)[0])
			})
		}
	}
}

func checkDivision(t *testing.T, dir, dataset string) {
	set, _, err := LoadImages(dir, dataset, 7)
	require.NoError(t, err)
	classes := []int{2, 0, 3}
	whole := require.Value(picture.Select(set, classes, 0))(t)
	c := require.Value(openAgain(t, dir, dataset, set).Choose(classes, 0))(t)
	d := require.Value(c.Divide(tabular.Split{Train: 70, Validation: 30}, 5))(t)
	cols := set.Pixels.Cols
	train, validation := matrix.NewBytes(d.Train.Rows(), cols, picture.PixelScale), matrix.NewBytes(d.Validation.Rows(), cols, picture.PixelScale)
	require.NoError(t, d.Read(train, validation))
	for k := range classes {
		all, part := whole.Offsets[k+1]-whole.Offsets[k], d.Validation.Offsets[k+1]-d.Validation.Offsets[k]
		if diff := 10*part - 3*all; diff < -10 || diff > 10 {
			t.Errorf("class %d: %d of %d rows are validation rows, want 30 %%", classes[k], part, all)
		}
		rows := slices.Concat(ofClass(train, &d.Train, k), ofClass(validation, &d.Validation, k))
		want := ofClass(whole.Pixels, whole, k)
		slices.Sort(rows)
		slices.Sort(want)
		if !slices.Equal(rows, want) {
			t.Errorf("class %d: the rows of both parts are not the chosen rows", classes[k])
		}
	}
	for i, r := range slices.Concat(d.Train.Source, d.Validation.Source) { // numbers of the rows in the set
		part, at := train, i
		if i >= train.Rows {
			part, at = validation, i-train.Rows
		}
		if !slices.Equal(part.Data[at*cols:(at+1)*cols], set.Pixels.Data[r*cols:(r+1)*cols]) {
			t.Fatalf("row %d is not row %d of the set", i, r)
		}
	}
	center, deviation := d.Moments()
	wantCenter, wantDeviation := matrix.Moments(train)
	if !cmp.Equal(center, wantCenter) || deviation != wantDeviation {
		t.Errorf("the moments are not those of the training rows: deviation %v, want %v", deviation, wantDeviation)
	}
}

// ofClass returns the pixels of each row of a class as text.
func ofClass(x *matrix.Bytes, s *picture.Selection, k int) []string {
	var rows []string
	for i := s.Offsets[k]; i < s.Offsets[k+1]; i++ {
		rows = append(rows, string(x.Data[i*x.Cols:(i+1)*x.Cols]))
	}
	return rows
}

// TestDivisionSeed checks that the same seed gives the same division, another seed gives another
// division, and 100/0/0 keeps all rows for training.
func TestDivisionSeed(t *testing.T) {
	require.NoRace(t, "TestDivision runs the same goroutines")
	open, _, err := OpenImages("", "synthetic", 1)
	require.NoError(t, err)
	divide := func(s tabular.Split, seed uint64) *picture.Division {
		c := require.Value(open.Choose([]int{0, 1}, 50))(t)
		return require.Value(c.Divide(s, seed))(t)
	}
	a, b, other := divide(tabular.Split{Train: 80, Validation: 20, Test: 0}, 1), divide(tabular.Split{Train: 80, Validation: 20, Test: 0}, 1), divide(tabular.Split{Train: 80, Validation: 20, Test: 0}, 2)
	if !slices.Equal(a.Places, b.Places) {
		t.Error("the same seed divides in two ways")
	}
	if slices.Equal(a.Places, other.Places) {
		t.Error("two seeds divide in the same way")
	}
	if whole := divide(tabular.Split{Train: 100}, 1); whole.Train.Rows() != 100 || whole.Validation.Rows() != 0 {
		t.Errorf("100/0/0 divides into %d and %d rows", whole.Train.Rows(), whole.Validation.Rows())
	}
}

func TestDivisionErrors(t *testing.T) {
	require.NoRace(t, "TestDivision runs the same goroutines")
	open, _, err := OpenImages("", "synthetic", 1)
	require.NoError(t, err)
	for _, c := range []struct {
		split   tabular.Split
		rows    int
		message string
	}{
		{tabular.Split{Train: 80, Validation: 10, Test: 10}, 0, "pictures have test rows of their own"},
		{tabular.Split{Train: 80, Validation: 10, Test: 0}, 0, "must add up to 100"},
		{tabular.Split{Train: 0, Validation: 100, Test: 0}, 0, "there must be training rows"},
		{tabular.Split{Train: 99, Validation: 1, Test: 0}, 3, "has no validation rows left"},
	} {
		choice := require.Value(open.Choose([]int{0, 1}, c.rows))(t)
		if _, err := choice.Divide(c.split, 1); !errors.Is(err, dataerr.ErrSplit) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%v: %v, want %q", c.split, err, c.message)
		}
	}
}
