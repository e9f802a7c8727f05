package cpu_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/racing"
	"ppal/internal/require"
	"ppal/trainer/graph"
)

// Mini-batches of sparse rows stay sparse: the device widens no row, the numbers equal Gorgonia's
// numbers on the same rows, and earlier batches do not change the bits of a batch.
func TestBindSparseRows(t *testing.T) {
	widths := []int{0, 1, 5, 40}
	if racing.Detector { // the goroutines are the same for every width
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
