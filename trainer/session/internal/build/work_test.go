package build

import (
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/cuda/driver"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// A record of a training that begins with two digits has a forward pass of its own, so that its
// work grows by one product. Mini-batches make a record worth more iterations, and held-out rows
// add their products, measures and copies.
func TestRecordWork(t *testing.T) {
	b, r := squares(t, 200, 30)
	all := []matrix.Matrix{r.Data}
	rows, product, entries := b.productWork(r.Data)
	if rows != 200 || entries != 6000 || product != workOfDense*6000 {
		t.Fatalf("%v rows, %v entries, the work %v", rows, entries, product)
	}
	plain, least := b.RecordWork(all, 0, false)
	again, _ := b.RecordWork(all, 0, true)
	batches, _ := b.RecordWork(all, 50, false)
	held, _ := b.RecordWork([]matrix.Matrix{r.Data, r.Data}, 0, false)
	iteration := b.IterationWork(r.Data)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"two digits", again, plain + product/iteration},
		{"batches of a quarter", batches, 4 * plain},
		{"as many held-out rows", held, plain + (workOfMeasure*rows+product+workOfCopy*entries)/iteration},
	} {
		if math.Abs(c.got-c.want) > 1e-12*c.want {
			t.Errorf("%s: a record is worth %v iterations, want %v", c.what, c.got, c.want)
		}
	}
	if want := int(cheapRecords / (plain * iteration)); least != want || want <= fewRecords || want >= manyRecords {
		t.Errorf("at least %d records, want %d", least, want)
	}
}

// aGPU stands for a GPU. No test calls its methods.
type aGPU struct{ driver.GPU }

// On a GPU, products with many rows take little time, a record does not copy rows, and the measures
// of the host are worth many iterations. The 101 records of 1,000 iterations on pictures, as many
// as on a CPU, become few.
func TestRecordWorkOnGPU(t *testing.T) {
	b, _ := squares(t, 2, 784)
	b.Model = models.Spec{Inputs: 784, Hidden: []int{256}, Outputs: 4}
	all := []matrix.Matrix{matrix.NewBytes(24000, 784, 1), matrix.NewBytes(4000, 784, 1)}
	records := func() int {
		work, least := b.RecordWork(all, 0, false)
		every, _ := trainer.Settings{Iterations: 1000, RecordWork: work, LeastRecords: least}.Intervals()
		return 1000/every + 1
	}
	if n := records(); n < 90 {
		t.Errorf("%d records on a CPU", n)
	}
	b.Devices.GPU = aGPU{}
	if n := records(); n > 21 {
		t.Errorf("%d records on a GPU", n)
	}
}

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
	b := &Builder{Devices: alone, Model: models.Spec{Inputs: 100, Hidden: []int{8}, Outputs: 3}}
	data := &matrix.CSR{Rows: 2, Cols: 100, Starts: []int{0, 3, 5}, Columns: []int32{0, 7, 9, 1, 2}}
	if _, work, entries := b.productWork(data); entries != 5 || math.Abs(work-(workOfSparse*5*8+workOfDense*2*8*3)) > 1e-9 {
		t.Errorf("%v entries, the work %v", entries, work)
	}
}

// squares returns a builder of linear models, and rows whose objective is the mean square of the
// scores.
func squares(t *testing.T, rows, cols int) (*Builder, Rows) {
	t.Helper()
	device := require.Value(cpu.New(kernel.Best(), 1))(t)
	rng := rand.New(rand.NewPCG(1, 2))
	data := &matrix.Dense{Rows: rows, Cols: cols, Data: make([]float64, rows*cols)}
	for i := range data.Data {
		data.Data[i] = rng.NormFloat64()
	}
	b := &Builder{Model: models.Spec{Inputs: cols, Outputs: 1}, Devices: &Devices{Train: graph.On(device), Measure: graph.On(device), Host: graph.On(device)},
		Complete: func(p problem.Problem) (problem.Problem, error) { return p, nil }}
	return b, rowsOf(data)
}

// rowsOf returns rows of a single stratum.
func rowsOf(data matrix.Matrix) Rows {
	return Rows{
		Data: data,
		Nodes: func(scores *gorgonia.Node) (*gorgonia.Node, gorgonia.Nodes, error) {
			square, err := gorgonia.Square(scores)
			if err != nil {
				return nil, nil, err
			}
			f, err := gorgonia.Mean(square)
			return f, nil, err
		},
		Strata: func() [][]int {
			n, _ := data.Dims()
			all := make([]int, n)
			for i := range all {
				all[i] = i
			}
			return [][]int{all}
		},
		Pick: func(list []int) Rows { return rowsOf(PickData(data, list)) },
	}
}

// start returns initial weights.
func start(t *testing.T, b *Builder) models.Weights {
	t.Helper()
	return require.Value(models.Init(b.Model, rand.New(rand.NewPCG(3, 4))))(t)
}
