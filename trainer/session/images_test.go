package session

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/session/results"
)

// TestPicturesWithValidation checks that a split of pictures gives validation rows of every class,
// measures on them, and their sizes in the description.
func TestPicturesWithValidation(t *testing.T) {
	a := assembled(t, small(func(c *setup) { c.Split = tabular.Split{Train: 75, Validation: 25} }))
	var names []results.Split
	for _, s := range a.splits {
		names = append(names, s.Name)
	}
	if want := []results.Split{results.Training, results.Validation, results.Test}; !slices.Equal(names, want) {
		t.Fatalf("splits %v, want %v", names, want)
	}
	for _, class := range a.Describe().Classes {
		if class.Train != 30 || class.Validation != 10 {
			t.Errorf("class %s has %d training and %d validation rows, want 30 and 10", class.Name, class.Train, class.Validation)
		}
	}
	_, m := a.problem.Dims()
	require.Value(a.problem.Forward(make([]float64, m)))(t)
	all := require.Value(a.measure())(t)
	if _, measured := all["validation_error"]; !measured {
		t.Errorf("no validation_error among %v", all)
	}
}

// TestPicturesWithoutValidation checks that the split 100/0/0 gives the same run as no split.
func TestPicturesWithoutValidation(t *testing.T) {
	require.NoRace(t, "TestRunsAreDeterministic runs the same goroutines")
	want := finished(t, assembled(t, small(nil)))
	got := finished(t, assembled(t, small(func(c *setup) { c.Split = tabular.Split{Train: 100} })))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSplitSeed checks that the seed of the split chooses the validation rows and does not change
// the initial weights.
func TestSplitSeed(t *testing.T) {
	notUnderRace(t)
	split := func(seed uint64) *assembly {
		return assembled(t, small(func(c *setup) { c.Split, c.SplitSeed = tabular.Split{Train: 75, Validation: 25}, seed }))
	}
	bytes := func(a *assembly) []float64 {
		x := a.splits[1].Data
		rows, cols := x.Dims()
		values := make([]float64, rows*cols)
		x.Float64(values, 0, rows)
		return values
	}
	a, same, other := split(0), split(1), split(2)
	if !slices.Equal(bytes(a), bytes(same)) {
		t.Error("a split seed of 0 is not the session's seed, 1")
	}
	if slices.Equal(bytes(a), bytes(other)) {
		t.Error("two split seeds choose the same validation rows")
	}
	if !slices.Equal(a.iterate(), other.iterate()) {
		t.Error("the split seed changes the initial weights")
	}
}

// TestValidationPicturesAtHand checks that a run measures the validation rows that the caller
// passes.
func TestValidationPicturesAtHand(t *testing.T) {
	train, test, err := datasets.LoadImages("", "synthetic", 1)
	require.NoError(t, err)
	choose := func(set *picture.Images, rows int) *picture.Selection {
		return require.Value(picture.Select(set, []int{2, 0, 3}, rows))(t)
	}
	a := assembled(t, small(func(c *setup) {
		c.source = ImagesAtHand{Train: choose(train, 40), Validation: choose(test, 10), Test: choose(test, 0)}
	}))
	if got := a.Describe().Rows; got.Validation != 30 || got.Test <= 30 {
		t.Errorf("%+v, want 30 validation rows", got)
	}
}

// The objective and the constraints on mirrored copies are the means over the pictures and over
// their mirror images, also on batches; rows.csv lists each picture once.
func TestAugmentedRows(t *testing.T) {
	none := func(c *setup) { c.Normalize = models.NormalizeNone }
	values := func(a *assembly) []float64 {
		g := make([]float64, 3)
		var err error
		if g[2], err = a.problem.Forward(g[:2]); err != nil {
			t.Fatal(err)
		}
		return g
	}
	plain := assembled(t, small(none))
	set := plain.splits[0].Data.(matrix.EightBit)
	n, cols := set.Dims()
	mirrored, buffer := matrix.NewBytes(n, cols, set.ByteScale()), make([]uint8, cols)
	for i := range n {
		for at, row := 0, set.ByteRow(i, buffer); at < cols; at += plain.data.Shape.Width {
			slices.Reverse(row[at : at+plain.data.Shape.Width])
		}
		mirrored.SetRows(i, [][]uint8{buffer})
	}
	want := values(plain)
	for j, v := range values(assembled(t, small(func(c *setup) {
		none(c)
		rows := &picture.Selection{Pixels: mirrored, Classes: []int{2, 0, 3}, Names: []string{"2", "0", "3"}, Offsets: []int{0, 40, 80, 120}}
		c.source = ImagesAtHand{Train: rows, Test: rows, Normalize: models.NormalizeNone}
	}))) {
		want[j] = (want[j] + v) / 2
	}
	a := assembled(t, small(func(c *setup) { none(c); c.Augment, c.BatchSize = picture.AugmentFlip, 60 }))
	if diff := cmp.Diff(want, values(a), within(1e-12)); diff != "" {
		t.Error(diff)
	}
	seen := map[int]int{}
	for b := range int(a.batches.PerPass()) {
		for _, i := range a.batches.List(b) {
			seen[i]++
		}
	}
	if len(seen) != 240 || a.Describe().Rows.Train != 240 || len(a.splits[0].Source) != 240 {
		t.Errorf("%d rows in the batches, %d rows", len(seen), a.Describe().Rows.Train)
	}
	if diff := cmp.Diff(plain.data.Members(), a.data.Members()); diff != "" {
		t.Error(diff)
	}
}
