package bench

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/internal/config"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
)

// Other programs rely on the names of the cases.
func TestCaseNames(t *testing.T) {
	want := []string{"mnpc-fashion-mnist", "mnpc-fashion-mnist-float32", "mnpc-fashion-mnist-int8x2", "mnpc-fashion-mnist-separate",
		"mnpc-cifar10", "conv-fashion-mnist", "conv-cifar10", "dp-adult", "dp-bank", "if-communities", "if-communities-1", "ranking-mslr-linear", "ranking-mslr-mlp", "ranking-paper"}
	if diff := cmp.Diff(want, caseNames(Cases(1))); diff != "" {
		t.Error(diff)
	}
}

func TestChoose(t *testing.T) {
	all := []Case{{Name: "a"}, {Name: "b", Missing: "there is no b"}, {Name: "c"}}
	for _, tc := range []struct {
		names, chosen []string
		notes         int
		refused       string
	}{
		{nil, []string{"a", "c"}, 1, ""},
		{[]string{"c", "a"}, []string{"c", "a"}, 0, ""},
		{[]string{"d"}, nil, 0, `--cases has no case "d", want some of a, b, c`},
		{[]string{"a", "b"}, nil, 0, "--cases names b, which cannot run: there is no b"},
		{[]string{"a", "a"}, nil, 0, "--cases gives a twice"},
	} {
		chosen, notes, err := Choose(all, tc.names)
		if tc.refused != "" {
			if !errors.Is(err, config.ErrUsage) || err.Error() != tc.refused {
				t.Errorf("%v: %v, want %s", tc.names, err, tc.refused)
			}
			continue
		}
		if err != nil || !slices.Equal(caseNames(chosen), tc.chosen) || len(notes) != tc.notes {
			t.Errorf("%v: %v, %q, %v", tc.names, caseNames(chosen), notes, err)
		}
	}
}

// Every supported case runs on rows of its shape, in both precisions.
func TestRun(t *testing.T) {
	require.NoRace(t, "TestDense, and the tests of internal/cpu, run these goroutines")
	shapes := map[string]Shape{
		"mnpc-fashion-mnist":          {Rows: 240, Features: 784, Width: 256, Parameters: 256*784 + 256 + 4*256 + 4, Constraints: 3},
		"mnpc-fashion-mnist-float32":  {Rows: 240, Features: 784, Width: 256, Parameters: 256*784 + 256 + 4*256 + 4, Constraints: 3},
		"mnpc-fashion-mnist-int8x2":   {Rows: 240, Features: 784, Width: 256, Parameters: 256*784 + 256 + 4*256 + 4, Constraints: 3},
		"mnpc-fashion-mnist-separate": {Rows: 240, Features: 784, Width: 256, Parameters: 256*784 + 256 + 256 + 4, Constraints: 3},
		"mnpc-cifar10":                {Rows: 200, Features: 3072, Width: 256, Parameters: 256*3072 + 256 + 4*256 + 4, Constraints: 3},
		"conv-fashion-mnist":          {Rows: 8, Features: 784, Width: 16, Parameters: 16*9 + 16 + 32*16*9 + 32 + 4*32*49 + 4, Constraints: 3},
		"conv-cifar10":                {Rows: 8, Features: 3072, Width: 32, Parameters: 32*27 + 32 + 64*32*9 + 64 + 128*64*9 + 128 + 4*128*16 + 4, Constraints: 3},
		"dp-adult":                    {Rows: 488, Features: 123, Width: 1, NonZeros: 14 * 488, Parameters: 124, Constraints: 2},
		"dp-bank":                     {Rows: 411, Features: 63, Width: 1, Parameters: 64, Constraints: 2},
		"if-communities":              {Rows: 19, Features: 145, Width: 64, Parameters: 64*145 + 64 + 64 + 1, Constraints: 800},
		"if-communities-1":            {Rows: 19, Features: 145, Width: 64, Parameters: 64*145 + 64 + 64 + 1, Constraints: 1},
		"ranking-mslr-linear":         {Rows: 12_000, Features: 136, Width: 1, Parameters: 137, Constraints: 2},
		"ranking-mslr-mlp":            {Rows: 1200, Features: 136, Width: 128, Parameters: 128*136 + 128 + 128 + 1, Constraints: 2},
		"ranking-paper":               {Rows: 570, Features: 136, Width: 1, Parameters: 137, Constraints: 2},
	}
	others := map[string]string{"dp-adult": "a dense pass over the same rows in ", "if-communities": "an iteration with one group"}
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		o := Options{DataDir: t.TempDir(), Device: config.Values{"dtype": dtype.String(), "threads": "2"}, Time: time.Millisecond}
		all := Cases(100)
		device := require.Value(cpu.New(kernel.Best(), 2))(t)
		Restrict(all, device, dtype)
		for _, c := range all {
			if dtype == tensor.Float64 && !slices.Contains([]string{"mnpc-fashion-mnist-separate", "mnpc-fashion-mnist-int8x2", "dp-adult"}, c.Name) {
				continue // other shapes of the same steps
			}
			t.Run(c.Name+" "+dtype.String(), func(t *testing.T) {
				r, err := c.Run(t.Context(), o)
				if c.Missing != "" {
					if err == nil {
						t.Error("a case that cannot run ran")
					}
					return
				}
				require.NoError(t, err)
				want := shapes[c.Name]
				want.Data = synthetic
				if diff := cmp.Diff(want, r.Shape); diff != "" {
					t.Error(diff)
				}
				if r.Name != c.Name || r.Products != productsOf(c, device, dtype.String()) || !strings.Contains(r.FloorIs, dtype.String()) {
					t.Errorf("%+v", r)
				}
				for _, x := range []float64{r.Iteration, r.Floor, r.Ratio, r.FloorGFLOPs, float64(r.PeakBytes)} {
					if !(x > 0) || math.IsInf(x, 0) {
						t.Errorf("%v in %+v", x, r)
					}
				}
				if r.Ratio != r.Iteration/r.Floor || r.IterationQuartiles[0] > r.Iteration || r.Iteration > r.IterationQuartiles[1] {
					t.Errorf("%+v", r)
				}
				if other := others[c.Name]; (other == "") != (r.Others == nil) || other != "" && !strings.HasPrefix(r.Others[0].Name, other) {
					t.Errorf("compared with %+v", r.Others)
				}
			})
		}
	}
}

// productsOf returns the kind of products with which the case should run.
func productsOf(c Case, device *cpu.Device, dtype string) string {
	_, lacking := device.With(plan.Int8x3)
	switch {
	case dtype == "float64" || c.products != "auto":
		return map[bool]string{true: "float64", false: c.products}[dtype == "float64"]
	case (strings.HasPrefix(c.Name, "mnpc") || strings.HasPrefix(c.Name, "memory")) && lacking == nil:
		return "int8x3"
	}
	return "float32"
}

// In the steady state an iteration makes no allocation of the size of the parameters or the data.
func TestSteadyStateAllocations(t *testing.T) {
	require.NoRace(t, "TestDense, and the tests of internal/cpu, run these goroutines")
	all := Cases(50)
	device := require.Value(cpu.New(kernel.Best(), 2))(t)
	Restrict(all, device, tensor.Float32)
	for _, c := range all {
		if c.Missing != "" {
			continue
		}
		w := require.Value(c.prepare(t.Context(), Options{DataDir: t.TempDir(), Device: config.Values{"threads": "2"}}))(t)
		require.NoError(t, w.repeat(warmUps))
		// An iteration may allocate a few kilobytes, and a few numbers for each constraint, but no
		// vectors of the size of the parameters or of the rows. A thread allocates its sums once, in
		// a later iteration if it had no rows in the first ones.
		most, least := uint64(16<<10+64*w.shape.Constraints), uint64(math.MaxUint64)
		for try := 0; try < 3 && least > most; try++ {
			a := require.Value(w.allocations())(t)
			least = min(least, a.Bytes)
		}
		if least > most {
			t.Errorf("%s: %d bytes an iteration, want at most %d bytes", c.Name, least, most)
		}
	}
}

// A case uses the published files if the files exist.
func TestRealData(t *testing.T) {
	dir := os.Getenv(datasets.EnvData)
	if dir == "" {
		t.Skipf("%s is not set: real files are not tested", datasets.EnvData)
	}
	for _, c := range tableCases(1) {
		w := require.Value(c.prepare(t.Context(), Options{DataDir: dir}))(t)
		want := Shape{Rows: communitiesRows, Features: communitiesFeatures}
		switch c.Name {
		case "dp-adult":
			want = Shape{Rows: adultRows, Features: adultFeatures}
		case "dp-bank":
			want = Shape{Rows: bankRows, Features: bankFeatures}
		}
		if w.shape.Data != fromFiles || w.shape.Rows != want.Rows || w.shape.Features != want.Features {
			t.Errorf("%s: %+v", c.Name, w.shape)
		}
	}
}

// TestBFloat16 checks that the products have digits of bfloat16, and the refusals.
func TestBFloat16(t *testing.T) {
	plain := require.Value(cpu.New(kernel.Best(), 1))(t)
	d := require.Value(plain.WithBFloat16InGo().With(plan.BF16x3))(t)
	const rows, cols, width = kernel.RowBlock + 3, 40, 5
	p := require.Value(bfloat16(d, rows, cols, width))(t)
	if p.Run() <= 0 || p.FLOPs() != 4*rows*cols*width {
		t.Errorf("%v operations", p.FLOPs())
	}
	for _, size := range [][3]int{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}} {
		if _, err := bfloat16(d, size[0], size[1], size[2]); err == nil {
			t.Errorf("%v is accepted", size)
		}
	}
	if _, err := bfloat16(plain, 1, 1, 1); err == nil {
		t.Error("a device without bfloat16 is accepted")
	}
}

// TestSparse checks that the products count the operations of the entries.
func TestSparse(t *testing.T) {
	data := draw(rand.New(rand.NewPCG(1, 1)), 500, 12)
	for _, level := range kernel.Levels() {
		d := require.Value(cpu.New(level, 2))(t)
		defer d.Close()
		p := require.Value(Sparse[float32](d, data, 3))(t)
		if took := p.Run(); took <= 0 || p.FLOPs() != float64(12*len(data.Columns)) {
			t.Errorf("%v for %v FLOPs of %d entries", took, p.FLOPs(), len(data.Columns))
		}
		if _, err := Sparse[float32](d, data, 0); err == nil {
			t.Error("width 0 gave no error")
		}
	}
}

// draw returns a matrix in which about a third of the elements are entries.
func draw(rng *rand.Rand, rows, cols int) *matrix.CSR {
	x := &matrix.CSR{Cols: cols, Starts: []int{0}}
	for range rows {
		for c := range cols {
			if rng.IntN(3) == 0 {
				x.Columns = append(x.Columns, int32(c))
				x.Values = append(x.Values, rng.NormFloat64())
			}
		}
		x.Starts = append(x.Starts, len(x.Columns))
	}
	return x
}

// TestPairs checks that the passes cover all pairs, for any number of threads: the derivatives of
// each document's pairs add up to 0 over a query, and are those of a single thread.
func TestPairs(t *testing.T) {
	const queries, relevant, others = 11, 5, 9
	var want []float64
	for _, threads := range []int{1, 2, 5} {
		device := require.Value(cpu.New(kernel.Best(), threads))(t)
		defer device.Close()
		p := require.Value(NewPairs[float64](device, queries, relevant, others))(t)
		for range 2 { // the second run starts with the sums of the first run
			p.Run()
		}
		if want == nil {
			want = slices.Clone(p.d)
		}
		if !slices.Equal(p.d, want) {
			t.Errorf("%d threads: other derivatives", threads)
		}
		for q := range queries {
			d, e := p.d[q*(relevant+others):][:relevant+others], p.e[q*(relevant+others):]
			first, sum := 0.0, 0.0
			for _, y := range e[relevant:][:others] {
				first -= e[0] * y / ((e[0] + y) * (e[0] + y))
			}
			for _, v := range d {
				sum += v
			}
			if math.Abs(d[0]-first) > 1e-13 || math.Abs(sum) > 1e-12 {
				t.Errorf("query %d: the first derivative is %v, want %v; the sum is %v", q, d[0], first, sum)
			}
		}
	}
}

func TestRandomGroups(t *testing.T) {
	const n, m = 1994, 800
	groups := randomGroups(n, m)
	if len(groups) != m {
		t.Fatalf("%d groups, want %d", len(groups), m)
	}
	for _, g := range groups {
		if 100*len(g.Rows) <= n || 2*len(g.Rows) > n {
			t.Errorf("%s has %d rows of %d, want more than a hundredth and at most a half", g.Name, len(g.Rows), n)
		}
		if !slices.IsSorted(g.Rows) || len(slices.Compact(slices.Clone(g.Rows))) != len(g.Rows) || g.Rows[0] < 0 || g.Rows[len(g.Rows)-1] >= n {
			t.Errorf("%s: rows %v", g.Name, g.Rows)
		}
	}
}

// Each row has one active column of each attribute and belongs to one group.
func TestRandomCategories(t *testing.T) {
	const n = 300
	table := randomCategories(n)
	x := table.Features.(*matrix.CSR)
	for i := range n {
		columns := x.Columns[x.Starts[i]:x.Starts[i+1]]
		if len(columns) != adultAttributes {
			t.Fatalf("row %d has %d entries, want %d", i, len(columns), adultAttributes)
		}
		for a, c := range columns {
			if int(c) < adultFeatures*a/adultAttributes || int(c) >= adultFeatures*(a+1)/adultAttributes {
				t.Errorf("row %d: column %d is not of attribute %d", i, c, a)
			}
		}
	}
	if _, _, err := table.Partition(); err != nil {
		t.Error(err)
	}
}

// TestDigits compares the products with 8-bit data with sums in float64.
func TestDigits(t *testing.T) {
	const rows, cols, width = 2*kernel.RowBlock + 7, 130, 9
	for _, level := range kernel.Levels() {
		d := require.Value(cpu.New(level, 2))(t)
		defer d.Close()
		k := require.Value(kernel.NewByteKernels(level))(t)
		p := newDigits(k, d, rows, cols, width, 3)
		for range 2 { // the second run starts with the sums of the first run
			p.run()
		}
		for j := range width {
			for i := range rows {
				var want float64
				for l := range cols {
					want += float64(p.x.At(i, l)) * float64(p.w[l*width+j])
				}
				if got := float64(p.z[i*width+j]); !(math.Abs(got-want) <= 1e-5*255*cols) {
					t.Fatalf("%v: Z[%d,%d] = %v, want %v", level, i, j, got, want)
				}
			}
			for l := range cols {
				var got, want float64
				for _, g := range p.sums {
					got += float64(g[l*width+j])
				}
				for i := range rows {
					want += float64(p.x.At(i, l)) * float64(p.d[i*width+j])
				}
				if !(math.Abs(got-want) <= 1e-5*255*rows) {
					t.Fatalf("%v: G[%d,%d] = %v, want %v", level, l, j, got, want)
				}
			}
		}
	}
}

// TestDigitsRefuses checks the errors, and the number of operations that a run counts.
func TestDigitsRefuses(t *testing.T) {
	d := require.Value(cpu.New(kernel.Best(), 1))(t)
	float := require.Value(d.With(plan.Float32))(t)
	if _, err := Digits(float, 500, 130, 9); err == nil {
		t.Error("no error for float32 products")
	}
	if d.Products(130).Digits() == 0 {
		t.Skip("no instructions for digits")
	}
	p := require.Value(Digits(d, 500, 130, 9))(t)
	if took := p.Run(); took <= 0 || p.FLOPs() != 4*500*130*9 {
		t.Errorf("%v for %v FLOPs", took, p.FLOPs())
	}
	for _, size := range [][3]int{{0, 130, 9}, {500, 130, 0}} {
		if _, err := Digits(d, size[0], size[1], size[2]); err == nil {
			t.Errorf("%v: no error", size)
		}
	}
}

// TestDense checks that the products cover all rows for any number of threads.
func TestDense(t *testing.T) {
	for _, level := range kernel.Levels() {
		for _, threads := range []int{1, 2, 5} {
			for _, width := range []int{1, cpu.NarrowWidth, 13} {
				testDense[float32](t, level, threads, width, 1e-5)
				testDense[float64](t, level, threads, width, 1e-13)
			}
		}
	}
}

func testDense[T plan.Float](t *testing.T, level kernel.Level, threads, width int, bound float64) {
	t.Helper()
	const rows, cols = 2*kernel.RowBlock + 7, 19
	device := require.Value(cpu.New(level, threads))(t)
	defer device.Close()
	k := require.Value(kernel.New[T](level))(t)
	b := newDense(k, device, rows, cols, width)
	x := func(i, l int) float64 { return float64(b.x.Data[i*cols+l]) }
	at := func(l, j int) int { return j*cols + l } // element (l, j) of W and G, which are stored by columns if they are narrow
	if width > cpu.NarrowWidth {
		x = func(i, l int) float64 { return float64(b.packed.At(i, l)) }
		at = func(l, j int) int { return l*width + j }
	}
	for range 2 { // the second run starts with the sums of the first run
		b.run()
	}
	for i := range rows {
		for j := range width {
			var want float64
			for l := range cols {
				want += x(i, l) * float64(b.w[at(l, j)])
			}
			if got := float64(b.z[i*width+j]); !(math.Abs(got-want) <= bound*cols) {
				t.Fatalf("%v, %d threads: Z[%d,%d] = %v, want %v", level, threads, i, j, got, want)
			}
		}
	}
	for l := range cols {
		for j := range width {
			var want float64
			for i := range rows {
				want += x(i, l) * float64(b.d[i*width+j])
			}
			if got := float64(b.sums[0][at(l, j)]); !(math.Abs(got-want) <= bound*rows) {
				t.Fatalf("%v, %d threads: G[%d,%d] = %v, want %v", level, threads, l, j, got, want)
			}
		}
	}
}

func TestDenseRefusesSizes(t *testing.T) {
	d := require.Value(cpu.New(kernel.Best(), 1))(t)
	for _, size := range [][3]int{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {-1, 1, 1}} {
		if _, err := Dense[float32](d, size[0], size[1], size[2]); err == nil {
			t.Errorf("%v: no error", size)
		}
	}
	b := require.Value(Dense[float32](d, 300, 4, 5))(t)
	if took := b.Run(); took <= 0 || b.FLOPs() != 4*300*4*5 {
		t.Errorf("a run took %v for %v operations", took, b.FLOPs())
	}
}
