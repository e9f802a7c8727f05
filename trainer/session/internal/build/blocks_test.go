package build

import (
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// The blocks in float64 keep the scores of the last weights, and no others.
func TestBlocksKeepScores(t *testing.T) {
	builder, rows := squares(t, 20, 3)
	x := require.Value(models.Stack(builder.Model, start(t, builder)))(t)
	b := require.Value(builder.NewExactBlocks(rows.Data, x))(t)
	first := require.Value(b.Scores(x))(t)
	want := append([]float64(nil), first...)
	first[0]++ // the caller's own memory
	start := x[0]
	x[0] += 0.5
	moved, err := b.Scores(x)
	if err != nil || cmp.Equal(want, moved) {
		t.Fatalf("other weights have the same scores: %v", err)
	}
	x[0] = start
	again, err := b.Scores(x)
	if diff := cmp.Diff(want, again); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	passes := 0
	b.score = func([]byte) error { passes++; return nil }
	again[0]++
	kept, err := b.AppendScores([]float64{7}, x)
	if diff := cmp.Diff(append([]float64{7}, want...), kept); err != nil || diff != "" || passes != 0 {
		t.Errorf("%d passes for the same weights, %v: %s", passes, err, diff)
	}
}

// Blocks in the order of strata have the same scores and gradients, and a gradient passes only
// through the blocks of sets on which D is not zero.
func TestBlocksByStrata(t *testing.T) {
	builder, rows := squares(t, 23, 3)
	x := require.Value(models.Stack(builder.Model, start(t, builder)))(t)
	strata := [][]int{{}, {}}
	d := make([]float64, 23)
	for i := range 23 {
		strata[i%2] = append(strata[i%2], i)
		if i%2 == 1 {
			d[i] = float64(i)
		}
	}
	result := func(ordered bool) (scores, gradient []float64, read int) {
		data := &countedRows{Dense: rows.Data.(*matrix.Dense)}
		b, err := builder.BlocksOf(data, 4, tensor.Float64, start(t, builder))
		require.NoError(t, err)
		if ordered {
			b.ByStrata(strata)
		}
		if scores, err = b.Scores(x); err != nil {
			t.Fatal(err)
		}
		data.read, gradient = 0, make([]float64, len(x))
		require.NoError(t, b.pullBack([][]float64{gradient}, x, spans(b, d)))
		return scores, gradient, data.read
	}
	scores, gradient, all := result(false)
	ownScores, own, read := result(true)
	if diff := cmp.Diff(scores, ownScores); diff != "" {
		t.Error(diff)
	}
	for i, v := range gradient {
		if math.Abs(own[i]-v) > 1e-12 {
			t.Errorf("gradient %d is %v, and %v in the order of the rows", i, own[i], v)
		}
	}
	if all != 6*4 || read != 3*4 { // the odd rows are in 3 of 6 blocks
		t.Errorf("%d rows read, and %d by strata", all, read)
	}
}

// spans returns the span of a matrix D.
func spans(b *Blocks, d []float64) []span {
	list := make([]span, 1)
	b.trim(&list[0], d)
	return list
}

// A span has the rows between the first and the last that are not zero, in the order of the blocks,
// and the memory of the span before it.
func TestTrim(t *testing.T) {
	b := &Blocks{outputs: 2, order: []int{3, 1, 0, 2}}
	buffer := make([]float64, 8)
	for _, c := range []struct {
		d    []float64
		want span
	}{
		{make([]float64, 8), span{4, []float64{}}},
		{[]float64{1, 0, 0, 2, 0, 0, 0, 0}, span{1, []float64{0, 2, 1, 0}}},
		{[]float64{0, 0, 0, 0, 5, 0, 0, 6}, span{0, []float64{0, 6, 0, 0, 0, 0, 5, 0}}},
	} {
		got := span{values: buffer}
		b.trim(&got, c.d)
		if got.from != c.want.from || !slices.Equal(got.values, c.want.values) || cap(got.values) != cap(buffer) {
			t.Errorf("%v: %v, want %v", c.d, got, c.want)
		}
	}
}

// countedRows counts the rows that are read.
type countedRows struct {
	*matrix.Dense
	read int
}

func (c *countedRows) Float64(dst []float64, from, to int) {
	c.read += to - from
	c.Dense.Float64(dst, from, to)
}

// With bounded memory, the device keeps all held-out rows in one block, and the blocks in float64
// keep no scores.
func TestBlocksOfRowsInFiles(t *testing.T) {
	for _, memory := range []int64{0, 1 << 20} {
		b, rows := squares(t, 2000, 300)
		b.Devices.Options.Memory = memory
		held := require.Value(b.HeldOut(rows.Data, tensor.Float32, start(t, b)))(t)
		x := require.Value(models.Stack(b.Model, start(t, b)))(t)
		exact := require.Value(b.NewExactBlocks(rows.Data, x))(t)
		if whole := held.rows == 2000 && held.lanes[0].picked == nil; whole != (memory > 0) || exact.keeps != (memory == 0) {
			t.Errorf("memory %d: a block of all rows %v, scores are kept %v", memory, whole, exact.keeps)
		}
	}
}

// meeting is an engine whose passes wait for the passes of other engines.
type meeting struct {
	graph.Engine
	present, most *atomic.Int32
	enough        int32
}

func (m meeting) Compile(l *graph.Lagrangian) (graph.Compiled, error) {
	c, err := m.Engine.Compile(l)
	return met{c, m}, err
}

type met struct {
	graph.Compiled
	meeting
}

func (m met) Forward(g []float64) (float64, error) {
	here := m.present.Add(1)
	defer m.present.Add(-1)
	for m.most.Load() < here && !m.most.CompareAndSwap(m.most.Load(), here) {
	}
	for late := time.Now().Add(10 * time.Second); m.most.Load() < m.enough && time.Now().Before(late); {
		time.Sleep(time.Millisecond)
	}
	return m.Compiled.Forward(g)
}

// The blocks of pictures of 784 pixels keep all of 16 threads busy, and the results are those of a
// single lane, bit for bit.
func TestLanesUseAllThreads(t *testing.T) {
	const threads, block = 16, blockNumbers / 784
	b, rows := squares(t, (threads+2)*block+5, 784)
	device := require.Value(cpu.New(kernel.Best(), threads))(t)
	weights := start(t, b)
	x := require.Value(models.Stack(b.Model, weights))(t)
	results := func() (scores, gradient []float64) {
		k, err := b.NewBlocks(rows.Data, tensor.Float64, weights)
		require.NoError(t, err)
		if scores, err = k.Scores(x); err != nil {
			t.Fatal(err)
		}
		gradient = make([]float64, len(x))
		require.NoError(t, k.pullBack([][]float64{gradient}, x, spans(k, scores)))
		return scores, gradient
	}
	scores, gradient := results()
	var present, most atomic.Int32
	busy := 0
	b.Devices.threads, b.Devices.lanes = threads, func(n int) (list []graph.Engine) {
		each := (threads + n - 1) / n
		busy = n * min(each, block/kernel.RowBlock) // threads of a lane that have whole units of rows
		for range n {
			list = append(list, meeting{graph.On(device.Lane(each)), &present, &most, int32(n)})
		}
		return list
	}
	again, sum := results()
	if diff := cmp.Diff([][]float64{scores, gradient}, [][]float64{again, sum}); diff != "" {
		t.Error(diff)
	}
	if n := int(most.Load()); busy < threads || n*(busy/max(1, n)) != busy {
		t.Errorf("%d blocks at the same time on %d threads, want all of %d", n, busy, threads)
	}
}

// gather returns the listed rows in the order of the list.
func TestGather(t *testing.T) {
	data := &matrix.Dense{Rows: 3000, Cols: 2}
	for i := range 2 * data.Rows {
		data.Data = append(data.Data, float64(i)+0.25)
	}
	var list []int
	for i := range 2500 {
		list = append(list, i*1301%3000)
	}
	got := gather[float32](data, append(list, 7, 7))
	for i, row := range append(list, 7, 7) {
		if want := []float32{float32(2*row) + 0.25, float32(2*row) + 1.25}; !slices.Equal(got.data[2*i:2*i+2], want) {
			t.Fatalf("row %d is %v, want %v", i, got.data[2*i:2*i+2], want)
		}
	}
	wide := make([]float64, 4)
	got.Float64(wide, 1, 3)
	if want := []float64{2602.25, 2603.25, 5204.25, 5205.25}; !slices.Equal(wide, want) {
		t.Errorf("%v, want %v", wide, want)
	}
}

// The first batch packs several batches, as many as fit in a share of the bound.
func TestPackAhead(t *testing.T) {
	for memory, want := range map[int64]int{0: 1, 1 << 10: 1, 1 << 20: 4, 1 << 30: 21} {
		b, r := squares(t, 2100, 70)
		b.Devices.Options.Memory = memory
		weights := start(t, b)
		all := require.Value(b.Problem(r, tensor.Float32, weights))(t)
		m, sampler, err := NewBatches(b, r, 100, 1, tensor.Float32, weights, all)
		require.NoError(t, err)
		m.From = 100
		require.NoError(t, sampler.Sample(0))
		packed := 0
		for _, p := range m.packed {
			if p != nil {
				packed++
			}
		}
		if packed != want || len(m.packed) != 21 {
			t.Errorf("memory %d: %d of %d batches are packed, want %d", memory, packed, len(m.packed), want)
		}
	}
}

// Similar rows of a batch are neighbours: first the rows with the rarest column.
func TestRowOrder(t *testing.T) {
	rows := [][]int32{{0, 3}, {0, 1}, {0, 2, 3}, {0, 1}, {0, 3}, {1, 2}}
	starts, columns := []int{0}, []int32(nil)
	for _, r := range rows {
		columns = append(columns, r...)
		starts = append(starts, len(columns))
	}
	data := &matrix.CSR{Rows: len(rows), Cols: 4, Starts: starts, Columns: columns}
	list := []int{0, 1, 2, 3, 4, 5}
	newRowOrder(data).sort(list)
	// column 2 has 2 entries, columns 1 and 3 have 3, column 0 has 5
	if want := []int{5, 2, 1, 3, 0, 4}; !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
}

// A batch of a sparse table has the rows of its strata in another order, with fewer columns in each
// 32 rows. Rows with many entries, and rows of other matrices, keep the order of the table.
func TestRowOrderOfBatches(t *testing.T) {
	table := require.Value(datasets.LoadTable("", "synthetic-adult", tabular.TableOptions{Seed: 1}))(t)
	data := table.Train.Features
	strata := map[int][]int{}
	for i, y := range table.Train.Labels {
		strata[y] = append(strata[y], i)
	}
	b := &Batches{data: data, rowOrder: newRowOrder(data), order: make([]int, len(table.Train.Labels)/300)}
	for k, y := range []int{-1, 1} {
		rows := strata[y]
		shuffle(rows, 1, uint64(k))
		b.strata, b.counts = append(b.strata, rows), append(b.counts, (len(rows)+len(b.order)-1)/len(b.order))
	}
	touched := func(list []int) (columns int) {
		starts, all, _ := PickData(data, list).(matrix.Sparse).Entries()
		for from := 0; from < len(list); from += 32 {
			group := slices.Clone(all[starts[from]:starts[min(from+32, len(list))]])
			slices.Sort(group)
			columns += len(slices.Compact(group))
		}
		return columns
	}
	ordered, plain := 0, 0
	for k := range b.order {
		list := b.List(k)
		own := b.rowOrder
		b.rowOrder = nil
		byNumber := b.List(k)
		b.rowOrder = own
		ordered, plain = ordered+touched(list), plain+touched(byNumber)
		first := 0
		for _, n := range b.counts {
			stratum := slices.Sorted(slices.Values(list[first : first+n]))
			if !slices.Equal(stratum, byNumber[first:first+n]) {
				t.Fatalf("batch %d has other rows: %v, want %v", k, stratum, byNumber[first:first+n])
			}
			first += n
		}
	}
	if ordered > plain*95/100 {
		t.Errorf("%d columns of groups of 32 rows, %d in the order of the table", ordered, plain)
	}

	long := &matrix.CSR{Rows: 1, Cols: mostOrdered + 1, Starts: []int{0, mostOrdered + 1}, Columns: make([]int32, mostOrdered+1)}
	if newRowOrder(long) != nil || newRowOrder(matrix.NewBytes(2, 3, 1)) != nil {
		t.Error("rows with many entries or other matrices are ordered")
	}
}
