package build

import (
	"math"
	"testing"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/require"
	"ppal/models"
)

// The listed cost of a perceptron is that of its plan, whose other operations are few. A plan of
// pictures counts the products of patches, and the layers that the gradient reads.
func TestRowCost(t *testing.T) {
	near := func(got, want float64) bool { return math.Abs(got-want) <= 0.03*want }
	for _, s := range []models.Spec{
		{}, {Hidden: []int{64}}, {Hidden: []int{16, 8}, Activation: models.ReLU}, {Hidden: []int{16, 8}, Heads: models.Separate},
	} {
		a := require.Value(models.Sized(s, 100, 4))(t)
		b := &Builder{Model: a}
		listed, plan := b.rowCost(), b.planCost()
		if !near(plan.operations, listed.operations) || plan.numbers != listed.numbers {
			t.Errorf("%v: the cost %v, its plan %v", a, listed, plan)
		}
	}
	p := models.Picture{Channels: 3, Height: 32, Width: 32}
	a := require.Value(models.Sized(models.Conv{Channels: []int{32, 64, 128}}.On(p), p.Pixels(), 4))(t)
	if c := (&Builder{Model: a}).rowCost(); !near(c.operations, 2*(1024*27*32+256*288*64+64*576*128+16*128*4)) || c.numbers != 71680 {
		t.Errorf("%v: the cost of a row is %v", a, c)
	}
}

// A block is small enough for the layers of its rows, and has enough rows for a few threads.
func TestBlockRows(t *testing.T) {
	picture := models.Picture{Channels: 3, Height: 32, Width: 32}
	for _, k := range []struct {
		what  string
		model models.Architecture
		cols  int
		want  int
	}{
		{"few features", models.Spec{}, 64, 8192},
		{"many features", models.Spec{Hidden: []int{16}}, 3072, 480},
		{"wide layers", models.Spec{Hidden: []int{1 << 14}}, 10, 128},
		{"pictures", models.Conv{Channels: []int{32, 64, 128}}.On(picture), 3072, 29},
		{"large pictures", models.Conv{Channels: []int{256, 512}}.On(picture), 3072, 16},
	} {
		b, r := squares(t, 1<<14/k.cols*32+500, k.cols)
		var err error
		if b.Model, err = models.Sized(k.model, k.cols, 1); err != nil {
			t.Fatal(err)
		}
		blocks, err := b.NewBlocks(r.Data, tensor.Float64, start(t, b))
		require.NoError(t, err)
		if blocks.rows != k.want {
			t.Errorf("%s: blocks of %d rows, want %d", k.what, blocks.rows, k.want)
		}
	}
}

// The entries of sparse rows cost more than those of dense rows, and only in the first layer.
func TestWorkOfSparseRows(t *testing.T) {
	b := &Builder{Model: models.Spec{Inputs: 100, Hidden: []int{8}, Outputs: 3}}
	data := &matrix.CSR{Rows: 2, Cols: 100, Starts: []int{0, 3, 5}, Columns: []int32{0, 7, 9, 1, 2}}
	if _, work, entries := b.productWork(data); entries != 5 || math.Abs(work-(workOfSparse*5*8+workOfDense*2*8*3)) > 1e-9 {
		t.Errorf("%v entries, the work %v", entries, work)
	}
}
