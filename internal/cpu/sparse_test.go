package cpu_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/internal/loader"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// sparseRows is a CSR matrix that counts the rows that a device widens.
type sparseRows struct {
	*matrix.CSR
	widened *atomic.Int64 // rows widened, by all workers
}

func (s sparseRows) Float32(dst []float32, from, to int) {
	s.widened.Add(int64(to - from))
	s.CSR.Float32(dst, from, to)
}

func (s sparseRows) Float64(dst []float64, from, to int) {
	s.widened.Add(int64(to - from))
	s.CSR.Float64(dst, from, to)
}

// denseRows hides that a matrix is sparse.
type denseRows struct{ matrix.Matrix }

// draw makes rows with some empty rows and columns. The values are float32 numbers, so they are the
// same in both precisions. Kind 0 has values of 1, kind 1 equal values.
func draw(rng *rand.Rand, rows, cols, kind int) *matrix.CSR {
	x := &matrix.CSR{Rows: rows, Cols: cols, Starts: []int{0}}
	density := []float64{0.05, 0.3, 0.5}[rng.IntN(3)]
	for range rows {
		empty := rng.IntN(6) == 0
		for c := range cols {
			if !empty && c%5 != 2 && rng.Float64() < density {
				x.Columns = append(x.Columns, int32(c))
			}
		}
		x.Starts = append(x.Starts, len(x.Columns))
	}
	if kind > 0 {
		x.Values = make([]float64, len(x.Columns))
		for i := range x.Values {
			if x.Values[i] = 0.75; kind > 1 {
				x.Values[i] = float64(float32(rng.NormFloat64()))
			}
		}
	}
	return x
}

// sparseNetwork is the Neyman-Pearson problem of a network on a sparse matrix.
type sparseNetwork struct {
	rows, cols, width, outputs int
	kind                       int
	center, separate           bool
	seed                       uint64
}

func (n sparseNetwork) data() *matrix.CSR {
	return draw(rand.New(rand.NewPCG(n.seed, 2)), n.rows, n.cols, n.kind)
}

func (n sparseNetwork) spec() models.Spec {
	spec := models.Spec{Inputs: n.cols, Outputs: n.outputs, Activation: models.Tanh}
	if n.width > 0 {
		spec.Hidden = []int{n.width}
	}
	if n.separate {
		spec.Heads = models.Separate
	}
	return spec
}

func (n sparseNetwork) over(data matrix.Matrix) graphcases.Case {
	counts := make([]int, n.outputs)
	for i := range n.rows {
		counts[i%n.outputs]++
	}
	c := graphcases.Network(n.spec(), counts, constraints.Logistic, n.center, graphcases.Sparse)
	c.Seed, c.Data = n.seed, data
	return c
}

func (n sparseNetwork) must(t testing.TB, dtype tensor.Dtype, engine graph.Engine, data matrix.Matrix) *graph.Problem {
	t.Helper()
	return compile(t, n.over(data), dtype, engine)
}

// sparseNetworks returns linear models and networks of many widths, on matrices of every kind.
func sparseNetworks() []sparseNetwork {
	list := []sparseNetwork{{rows: 700, cols: 30, outputs: 2}, {rows: 2, cols: 9, outputs: 2, width: 3}, {rows: 50, cols: 1, outputs: 2, width: 1},
		{rows: 700, cols: 40, outputs: 2, width: 1}, {rows: 650, cols: 33, outputs: 2, width: 1}, {rows: 333, cols: 20, outputs: 2, width: 1}}
	rng := rand.New(rand.NewPCG(6, 6))
	for _, width := range []int{0, 1, 2, 3, 5, 8, 13, 16, 17, 31, 40, 63, 64} {
		list = append(list, sparseNetwork{rows: 3 + rng.IntN(600), cols: 1 + rng.IntN(60), outputs: 2 + rng.IntN(2), width: width, separate: width > 0 && width < 17 && rng.IntN(2) == 0})
	}
	for i := range list {
		list[i].kind, list[i].center, list[i].seed = i%3, i%2 == 1, uint64(i)
	}
	return list
}

// On every level and for any number of threads, the sparse products agree with Gorgonia's machine
// in float64, and the device widens no row.
func TestSparseAgreesWithGorgonia(t *testing.T) {
	for _, n := range sparseNetworks() {
		data := n.data()
		want := numbers(t, n.must(t, tensor.Float64, graph.Tape{}, data))
		for _, level := range levels() {
			for _, threads := range []int{1, 3} {
				for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 2e-5} {
					var widened atomic.Int64
					got := numbers(t, n.must(t, dtype, engine(t, level, threads), sparseRows{data, &widened}))
					agree(t, fmt.Sprintf("%+v, %v, %d threads, %v", n, level, threads, dtype), got, want, bound)
					if widened.Load() > 0 {
						t.Errorf("%+v, %v: %d rows were widened", n, level, widened.Load())
					}
				}
			}
		}
	}
}

// On Adult, the products of the sparse matrix equal the products of the dense matrix, in float32
// and float64.
func TestRealAdultSparse(t *testing.T) {
	dir := os.Getenv(datasets.EnvData)
	if dir == "" {
		t.Skipf("%s is not set: real files are not tested", datasets.EnvData)
	}
	adult := require.Value(loader.LoadLIBSVM(filepath.Join(dir, "adult", "a9a"), 123))(t)
	n := sparseNetwork{rows: adult.X.Rows, cols: 123, outputs: 2, width: 1, seed: 1}
	want := numbers(t, n.must(t, tensor.Float64, engine(t, kernel.Best(), 2), denseRows{adult.X}))
	for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 2e-5} {
		got := numbers(t, n.must(t, dtype, engine(t, kernel.Best(), 2), adult.X))
		agree(t, fmt.Sprintf("%v", dtype), got, want, bound)
	}
}

// Training with sparse products follows training with dense products up to rounding, and repeats to
// the bit.
func TestSparseTrainingAgreesWithDense(t *testing.T) {
	n := sparseNetwork{rows: 300, cols: 25, outputs: 2, width: 9, center: true, seed: 3}
	run := func(data matrix.Matrix) []float64 {
		p := n.must(t, tensor.Float64, engine(t, kernel.Best(), 2), data)
		require.Value(trainer.Train(t.Context(), p, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, trainer.Settings{Iterations: 100}))(t)
		size, _ := p.Dims()
		x := make([]float64, size)
		p.Space().Read(x, problem.Iterate)
		return x
	}
	sparse := run(n.data())
	if d := distance(sparse, run(denseRows{n.data()})); d > 1e-8 { // rounding, amplified by the iterations
		t.Errorf("after 100 iterations the weights differ by %.2g", d)
	}
	if d := distance(sparse, run(n.data())); d != 0 {
		t.Errorf("a second run differs by %.2g", d)
	}
}

// The device packs a sparse matrix like other data, a row at a time, if the entries need more
// memory than all elements.
func TestFullSparseMatrixIsPacked(t *testing.T) {
	n := sparseNetwork{rows: 40, cols: 6, outputs: 2, width: 4}
	full := &matrix.CSR{Rows: 40, Cols: 6, Starts: []int{0}}
	for i := range 240 {
		full.Columns, full.Values = append(full.Columns, int32(i%6)), append(full.Values, float64(i%11)-4)
		if i%6 == 5 {
			full.Starts = append(full.Starts, i+1)
		}
	}
	want := numbers(t, n.must(t, tensor.Float64, graph.Tape{}, full))
	var widened atomic.Int64
	got := numbers(t, n.must(t, tensor.Float64, engine(t, kernel.Best(), 2), sparseRows{full, &widened}))
	agree(t, "a full matrix", got, want, 1e-12)
	if widened.Load() != 40 {
		t.Errorf("%d rows were widened, want each of the 40 once", widened.Load())
	}
}

// An op that reads the input itself gets a widened copy in addition to the entries.
func TestSparseInputReadWhole(t *testing.T) {
	data := draw(rand.New(rand.NewPCG(8, 8)), 500, 12, 2)
	build := func(e graph.Engine, m matrix.Matrix) *graph.Problem {
		p := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			rng := rand.New(rand.NewPCG(4, 4))
			x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("rows"), gorgonia.WithShape(500, 12))
			w := graphcases.Normal(g, tensor.Float64, rng, "w", 12, 3)
			scores := gorgonia.Must(gorgonia.Mul(x, w))
			f := gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(scores))))
			c := gorgonia.Must(gorgonia.Mul(f, gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(x))))))
			return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{c}, Parameters: gorgonia.Nodes{w},
				Inputs: gorgonia.Nodes{x}, Data: []matrix.Matrix{m}, Watch: gorgonia.Nodes{scores}}, nil
		}, e))(t)
		return p
	}
	var widened atomic.Int64
	got, want := numbers(t, build(engine(t, kernel.Best(), 2), sparseRows{data, &widened})), numbers(t, build(graph.Tape{}, data))
	agree(t, "an input read whole", got, want, 1e-12)
	if widened.Load() != 500 {
		t.Errorf("%d rows were widened, want each of the 500 once", widened.Load())
	}
}

// A dense value that Bind receives replaces the entries.
func TestBindReplacesSparseRows(t *testing.T) {
	n := sparseNetwork{rows: 50, cols: 6, outputs: 2, width: 5, seed: 9}
	values := make([]float64, 300)
	for i := range values {
		values[i] = float64(i%17) - 8
	}
	v := &matrix.Dense{Rows: 50, Cols: 6, Data: values}
	results := [2][][]float64{}
	for i, e := range []graph.Engine{engine(t, kernel.Best(), 2), graph.Tape{}} {
		p := n.must(t, tensor.Float64, e, n.data())
		numbers(t, p) // a run with the entries before Bind
		for range 2 {
			require.NoError(t, p.Bind(0, v))
			results[i] = numbers(t, p)
		}
	}
	agree(t, "after Bind", results[0], results[1], 1e-12)
}

// A sparse problem needs a fraction of the dense matrix's memory.
func TestSparseMemory(t *testing.T) {
	const rows, cols = 20000, 500 // 80 MB in float64
	data := &matrix.CSR{Rows: rows, Cols: cols, Starts: []int{0}}
	for i := range rows {
		for c := i % 7; c < cols; c += 50 {
			data.Columns = append(data.Columns, int32(c))
		}
		data.Starts = append(data.Starts, len(data.Columns))
	}
	n := sparseNetwork{rows: rows, cols: cols, outputs: 2}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	numbers(t, n.must(t, tensor.Float64, engine(t, kernel.Best(), 2), data))
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 20<<20 {
		t.Errorf("allocated %d MiB", allocated>>20)
	}
}

// The device refuses malformed sparse rows, such as rows that repeat a column, and names the input
// and the row.
func TestMalformedSparseRowsAreRefused(t *testing.T) {
	n := sparseNetwork{rows: 40, cols: 6, outputs: 2}
	for want, damage := range map[string]func(x *matrix.CSR){
		"row 0: column 1 after 1": func(x *matrix.CSR) { x.Columns[0], x.Columns[1], x.Starts[1] = 1, 1, 2 },
		"row 39: entries":         func(x *matrix.CSR) { x.Starts[40]++ },
		"with 0 starts":           func(x *matrix.CSR) { x.Starts = nil },
	} {
		data := n.data()
		damage(data)
		_, err := n.over(data).Problem(tensor.Float64, engine(t, kernel.Best(), 2))
		if !errors.Is(err, kernel.ErrSparse) || !strings.Contains(err.Error(), "rows: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// Explain reports the number of entries of the data, and counts only the arithmetic of the entries.
func TestExplainSparse(t *testing.T) {
	n := sparseNetwork{rows: 2000, cols: 30, outputs: 2, width: 4}
	data := n.data()
	text := n.must(t, tensor.Float32, engine(t, kernel.Best(), 2), data).Explain()
	entries := len(data.Columns)
	for _, want := range []string{fmt.Sprintf("%d entries", entries), fmt.Sprintf("%.4g kFLOP", float64(8*entries)/1000)} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

var _ matrix.Sparse = sparseRows{}

// Mini-batches of sparse rows stay sparse: the device widens no row, the numbers equal Gorgonia's
// numbers on the same rows, and earlier batches do not change the bits of a batch.
func TestBindSparseRows(t *testing.T) {
	widths := []int{0, 1, 5, 40}
	if require.Racing { // the goroutines are the same for every width
		widths = []int{5}
	}
	for _, kind := range []int{0, 1, 2} {
		for _, width := range widths {
			n := sparseNetwork{rows: 400, cols: 30, outputs: 2, width: width, kind: kind, seed: uint64(8 + kind)}
			data := n.data()
			list := make([]int, n.rows)
			var widened atomic.Int64
			for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 2e-5} {
				p := n.must(t, dtype, engine(t, kernel.Best(), 2), sparseRows{data, &widened})
				reference := n.must(t, tensor.Float64, graph.Tape{}, data)
				batch := matrix.PickSparse(sparseRows{data, &widened}, list)
				var first [][]float64
				for k, step := range []int{3, 7, 3} {
					for i := range list {
						list[i] = (i*step + step) % n.rows
					}
					for _, p := range []*graph.Problem{p, reference} {
						require.NoError(t, p.Bind(0, batch))
					}
					before := widened.Load()
					got := numbers(t, p)
					agree(t, fmt.Sprintf("%+v, %v, batch %d", n, dtype, k), got, numbers(t, reference), bound)
					if widened.Load() != before {
						t.Errorf("%+v: %d rows were widened", n, widened.Load()-before)
					}
					if first == nil {
						first = got
					} else if diff := cmp.Diff(first, got); k == 2 && diff != "" {
						t.Errorf("%+v, %v: the first batch again has other bits: %s", n, dtype, diff)
					}
				}
				widened.Store(0)
				if err := p.Bind(0, batch); err != nil || widened.Load() > 0 {
					t.Errorf("%+v: binding widened %d rows: %v", n, widened.Load(), err)
				}
			}
		}
	}
}

// Kept rows have the numbers of the same rows as data, up to rounding because of other row groups,
// and the same bits at each use, in any order and also after Bind, which must not change the kept
// rows. Using them allocates nothing.
func TestKeepRows(t *testing.T) {
	dense := &matrix.Dense{Rows: 600, Cols: 20}
	rng := rand.New(rand.NewPCG(1, 2))
	for range dense.Rows * dense.Cols {
		dense.Data = append(dense.Data, rng.NormFloat64())
	}
	tables := map[string]func(seed uint64) matrix.Matrix{
		"dense": func(seed uint64) matrix.Matrix {
			list := make([]int, dense.Rows)
			for i := range list {
				list[i] = (i*7 + int(seed)) % len(list)
			}
			return matrix.Pick(dense, list)
		},
	}
	for kind := range 3 {
		tables[fmt.Sprint("sparse ", kind)] = func(seed uint64) matrix.Matrix {
			return sparseNetwork{rows: 600, cols: 20, outputs: 2, kind: kind, seed: seed}.data()
		}
	}
	for name, table := range tables {
		for _, width := range []int{1, 5, 12} { // a single column, unpacked, packed
			n := sparseNetwork{rows: 600, cols: 20, outputs: 2, width: width, seed: 3}
			compile := func(data matrix.Matrix) *graph.Problem {
				return n.must(t, tensor.Float32, engine(t, kernel.Best(), 2), data)
			}
			p := compile(table(100))
			uses, want := []func() error{}, [][][]float64{}
			for seed := range uint64(3) {
				use := require.Value(p.Keep(0, table(seed)))(t)
				uses, want = append(uses, use), append(want, numbers(t, compile(table(seed))))
			}
			seen := map[int][][]float64{}
			for step, k := range []int{2, 0, 1, 0, 2} {
				if step == 3 { // to other memory than that of the kept rows
					require.NoError(t, p.Bind(0, table(50)))
				}
				require.NoError(t, uses[k]())
				got := numbers(t, p)
				agree(t, fmt.Sprintf("%s, width %d: the kept rows %d at step %d", name, width, k, step), got, want[k], 2e-6)
				if diff := cmp.Diff(seen[k], got); seen[k] != nil && diff != "" {
					t.Errorf("%s, width %d: the kept rows %d at step %d have other bits: %s", name, width, k, step, diff)
				}
				seen[k] = got
			}
			if allocations := testing.AllocsPerRun(5, func() { uses[1]() }); allocations > 0 {
				t.Errorf("%s, width %d: %v allocations", name, width, allocations)
			}
		}
	}
}

// Keep refuses rows of another shape, malformed rows, and rows that are not bytes for products of
// bytes. If Keep cannot keep the rows, the function that it returns binds them.
func TestKeepRefuses(t *testing.T) {
	n := sparseNetwork{rows: 200, cols: 30, outputs: 2, width: 5, kind: 2, seed: 4}
	data := n.data()
	p := n.must(t, tensor.Float32, engine(t, kernel.Best(), 2), data)
	bad := *data
	bad.Columns = append([]int32{}, data.Columns...)
	bad.Columns[0] = 99
	if _, err := p.Keep(0, &bad); !errors.Is(err, kernel.ErrSparse) || !strings.Contains(err.Error(), "kept for") {
		t.Errorf("error %v, want ErrSparse", err)
	}
	if _, err := p.Keep(0, matrix.Pick(data, []int{1})); err == nil || !strings.Contains(err.Error(), "200 x 30") {
		t.Errorf("rows of another shape: %v", err)
	}
	list := make([]int, n.rows)
	use := require.Value(p.Keep(0, matrix.Pick(data, list)))(t) // not sparse
	require.NoError(t, use())
	want := n.must(t, tensor.Float32, engine(t, kernel.Best(), 2), matrix.Pick(data, list))
	agree(t, "dense rows", numbers(t, p), numbers(t, want), 1e-5)
}

// Binding a mini-batch of sparse rows allocates nothing. Bind refuses a malformed row.
func TestBindSparseRowsAllocatesNothing(t *testing.T) {
	n := sparseNetwork{rows: 200, cols: 30, outputs: 2, width: 5, kind: 2, seed: 4}
	data := n.data()
	p := n.must(t, tensor.Float32, engine(t, kernel.Best(), 2), data)
	list := make([]int, n.rows)
	for i := range list {
		list[i] = (7 * i) % len(list)
	}
	batch := matrix.PickSparse(data, list)
	bind := func() {
		require.NoError(t, p.Bind(0, batch))
	}
	bind()
	if allocations := testing.AllocsPerRun(5, bind); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
	bad := *data
	bad.Columns = append([]int32{}, data.Columns...)
	bad.Columns[0] = 99
	if err := p.Bind(0, &bad); !errors.Is(err, kernel.ErrSparse) || !strings.Contains(err.Error(), "bound to") {
		t.Errorf("error %v, want ErrSparse", err)
	}
}
