package build

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"

	"ppal/datasets/matrix"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/problem"
)

// alone has no device: the scales need only the number of processes, here a single process.
var alone = &Devices{}

// With few rows, the scales are E[z^2]^(-1/4) for the weights of a feature and 1 for a bias, in the
// order of the graph's parameters, for every form of the rows. Second moments below a hundredth of
// the largest count as that.
func TestScales(t *testing.T) {
	dense := &matrix.Dense{Rows: 2, Cols: 3, Data: []float64{4, 0, 0.01, 0, 1, 0}} // second moments 8, 1/2, 5e-5
	sparse := &matrix.CSR{Rows: 2, Cols: 3, Starts: []int{0, 2, 3}, Columns: []int32{0, 2, 1}, Values: []float64{4, 0.01, 1}}
	bytes := &matrix.Bytes{Rows: 2, Cols: 3, Data: []uint8{9, 2, 0, 1, 4, 0}, Scale: 0.5} // less the centre, times the scale: dense
	root := func(moment float64) float64 { return math.Pow(moment, -0.25) }
	a, b, c := root(8), root(0.5), root(0.08)
	for name, k := range map[string]struct {
		data          matrix.Matrix
		center, scale []float64
		spec          models.Spec
		want          []float64
	}{
		"dense":    {data: dense, want: []float64{a, b, c, 1}},
		"sparse":   {data: sparse, want: []float64{a, b, c, 1}},
		"a part":   {data: &matrix.Part{Rows: 2, Own: sparse}, want: []float64{a, b, c, 1}},
		"bytes":    {data: bytes, center: []float64{0.5, 2, 0}, scale: []float64{1, -1, 7}, want: []float64{a, b, c, 1}},
		"large":    {data: &matrix.Dense{Rows: 1, Cols: 2, Data: []float64{1, 1e3}}, want: []float64{root(1e4), root(1e6), root(1e4)}},
		"2 scores": {data: dense, spec: models.Spec{Outputs: 2}, want: []float64{a, a, b, b, c, c, 1, 1}},
		"zeros":    {data: &matrix.Dense{Rows: 2, Cols: 1, Data: []float64{0, 0}}, want: []float64{1, 1}},
		"infinite": {data: &matrix.Dense{Rows: 1, Cols: 1, Data: []float64{1e200}}, want: []float64{1, 1}},
	} {
		n, cols := k.data.Dims()
		k.spec.Inputs, k.spec.Outputs = cols, max(1, k.spec.Outputs)
		b := &Builder{Devices: alone, Model: k.spec, Center: k.center, Scale: k.scale}
		scale(t, b, k.data, make([]int, n))
		if diff := cmp.Diff(k.want, scaledOnes(b.Scales), within(1e-12)); diff != "" {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
	}
}

// scale sets the scales of b for rows with the labels.
func scale(t *testing.T, b *Builder, data matrix.Matrix, labels []int) {
	t.Helper()
	b.Scales = problem.NewScales(b.Parameters())
	require.NoError(t, b.SetScales(data, labels))
}

// within compares numbers up to a relative difference.
func within(difference float64) cmp.Options { return cmp.Options{cmpopts.EquateApprox(difference, 0)} }

// From 20 rows for each feature and the bias on, the scales are from G = E[z z^T] over every k-th
// row, with k = rows/(100 features), made odd, and the same weight for each class, plus 3e-3 of the
// mean of G's diagonal and 4 w of l2, for every form of the rows.
func TestWhitenedScales(t *testing.T) {
	const n, stride = 1001, 3 // 333 for each of three features
	dense := &matrix.Dense{Rows: n, Cols: 2, Data: make([]float64, 2*n)}
	sparse := &matrix.CSR{Rows: n, Cols: 2, Starts: []int{0}}
	bytes := &matrix.Bytes{Rows: n, Cols: 2, Data: make([]uint8, 2*n), Scale: 0.5}
	labels := make([]int, n)
	g := mat.NewSymDense(3, nil)
	for i := range n {
		labels[i] = i / 999 // 999 and 2 rows, of which 333 and 1 count
		a, b := i%5, i*i%7
		copy(dense.Data[2*i:], []float64{float64(a), float64(b)})
		copy(bytes.Data[2*i:], []uint8{uint8(2*a + 2), uint8(2 * b)})
		for j, v := range []int{a, b} {
			if v != 0 {
				sparse.Columns, sparse.Values = append(sparse.Columns, int32(j)), append(sparse.Values, float64(v))
			}
		}
		sparse.Starts = append(sparse.Starts, len(sparse.Columns))
		if i%stride == 0 {
			g.SymRankOne(g, []float64{0.5 / 333, 0.5}[labels[i]], mat.NewVecDense(3, []float64{float64(a), float64(b), 1}))
		}
	}
	ridge := 3e-3 * mat.Trace(g) / 3
	for i := range 3 {
		g.SetSym(i, i, g.At(i, i)+ridge)
	}
	reference := problem.NewScales(6)
	if !reference.Whiten(g, 2) {
		t.Fatal("no reference")
	}
	want := []float64{1, 2, 3, 4, 5, 6}
	reference.Multiply(want)
	for name, k := range map[string]struct {
		data   matrix.Matrix
		center []float64
	}{
		"dense": {data: dense}, "sparse": {data: sparse}, "a part": {data: &matrix.Part{Rows: n, Own: sparse}}, "bytes": {data: bytes, center: []float64{1, 0}},
	} {
		b := &Builder{Devices: alone, Model: models.Spec{Inputs: 2, Outputs: 2}, Center: k.center}
		scale(t, b, k.data, labels)
		got := []float64{1, 2, 3, 4, 5, 6}
		b.Scales.Multiply(got)
		if diff := cmp.Diff(want, got, within(1e-12)); diff != "" || !b.Scales.Whitened() {
			t.Errorf("%s: whitened %v (-want +got): %s", name, b.Scales.Whitened(), diff)
		}
	}
	ones := &matrix.CSR{Rows: n, Cols: 2, Starts: sparse.Starts, Columns: sparse.Columns}
	with := &matrix.CSR{Rows: n, Cols: 2, Starts: sparse.Starts, Columns: sparse.Columns, Values: slices.Repeat([]float64{1}, len(sparse.Columns))}
	var moments [2]*mat.SymDense
	for k, data := range []matrix.Matrix{ones, with} {
		moments[k] = mat.NewSymDense(3, nil)
		if err := (&Builder{Devices: alone}).moments(moments[k], data, labels, 1); err != nil {
			t.Fatal(err)
		}
	}
	if !mat.Equal(moments[0], moments[1]) {
		t.Errorf("the moments of features without values are %v, want those of values of 1, %v", moments[0], moments[1])
	}
	l2 := &Builder{Devices: alone, Model: models.Spec{Inputs: 2, Outputs: 2}, Regularizer: problem.Regularizer{Kind: problem.SquaredL2, Weight: 0.1}}
	scale(t, l2, dense, labels)
	for i := range 3 {
		g.SetSym(i, i, g.At(i, i)+0.4)
	}
	withRidge := problem.NewScales(6)
	if !withRidge.Whiten(g, 2) {
		t.Fatal("no reference with l2")
	}
	got, want := []float64{1, 2, 3, 4, 5, 6}, []float64{1, 2, 3, 4, 5, 6}
	l2.Scales.Multiply(got)
	withRidge.Multiply(want)
	if diff := cmp.Diff(want, got, within(1e-12)); diff != "" {
		t.Errorf("l2 with the weight 0.1 (-want +got): %s", diff)
	}
	for name, k := range map[string]struct{ rows, cols int }{"too few rows": {59, 2}, "many features": {20 * 257, 256}} {
		b := &Builder{Devices: alone, Model: models.Spec{Inputs: k.cols, Outputs: 1}}
		scale(t, b, &matrix.Dense{Rows: k.rows, Cols: k.cols, Data: slices.Repeat([]float64{1}, k.rows*k.cols)}, make([]int, k.rows))
		if b.Scales.Whitened() {
			t.Errorf("%s: whitened %v", name, b.Scales.Whitened())
		}
	}
}

// The first layer of a network is whitened by I + G/c, where c is ten times the mean of G's
// diagonal, plus 4 w of l2. The other layers keep T = I.
func TestWhitenedFirstLayer(t *testing.T) {
	const n = 60
	data, labels, g := &matrix.Dense{Rows: n, Cols: 2, Data: make([]float64, 2*n)}, make([]int, n), mat.NewSymDense(3, nil)
	for i := range n {
		a, b := float64(i%5), float64(i*i%7)
		data.Data[2*i], data.Data[2*i+1], labels[i] = a, b, i%2
		g.SymRankOne(g, 1./n, mat.NewVecDense(3, []float64{a, b, 1}))
	}
	for name, r := range map[string]problem.Regularizer{"none": {}, "l2": {Kind: problem.SquaredL2, Weight: 0.1}} {
		c := 10*mat.Trace(g)/3 + 4*r.Weight
		var m mat.SymDense
		m.ScaleSym(1/c, g)
		for i := range 3 {
			m.SetSym(i, i, m.At(i, i)+1)
		}
		layer := problem.NewScales(12) // weights [2, 4] and biases of 4 units
		if !layer.Whiten(&m, 4) {
			t.Fatal("no reference")
		}
		b := &Builder{Devices: alone, Model: models.Spec{Inputs: 2, Outputs: 3, Hidden: []int{4, 2}}, Regularizer: r}
		scale(t, b, data, labels)
		if b.Scales.Len() != 12+10+9 {
			t.Fatalf("%s: scales of %d weights, want 31", name, b.Scales.Len())
		}
		want, got := make([]float64, 31), make([]float64, 31)
		for i := range got {
			want[i], got[i] = float64(i+1), float64(i+1)
		}
		layer.Multiply(want[:12])
		b.Scales.Multiply(got)
		if diff := cmp.Diff(want, got, within(1e-12)); diff != "" {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
	}
}

// A network with fewer rows, or with moments that overflow, keeps T = I.
func TestNoScalesOfNetworks(t *testing.T) {
	for name, c := range map[string]struct {
		rows  int
		value float64
	}{"too few rows": {39, 1}, "infinite": {40, 1e200}} {
		b := &Builder{Devices: alone, Model: models.Spec{Inputs: 1, Outputs: 1, Hidden: []int{2}}}
		scale(t, b, &matrix.Dense{Rows: c.rows, Cols: 1, Data: slices.Repeat([]float64{c.value}, c.rows)}, make([]int, c.rows))
		if !b.Scales.Identity() {
			t.Errorf("%s: scales %v", name, scaledOnes(b.Scales))
		}
	}
}

// The sums of squares over the rows of this process.
func TestSquaresOfParts(t *testing.T) {
	bytes := &matrix.Bytes{Rows: 2, Cols: 2, Data: []uint8{3, 4, 1, 2}, Scale: 2}
	sparse := &matrix.SparsePart{CSR: matrix.CSR{Rows: 4, Cols: 2, Starts: []int{0, 0, 0, 2, 3}, Columns: []int32{0, 1, 1}, Values: []float64{5, 7, 1}}, From: 2, To: 4}
	for name, c := range map[string]struct {
		b    *Builder
		data matrix.Matrix
		want []float64
	}{
		"bytes":    {&Builder{Devices: alone, Center: []float64{1, 2}, Scale: []float64{1, 3}}, matrix.NewEightBitPart(4, 2, bytes), []float64{25 + 1, 9 * (36 + 4)}},
		"sparse":   {&Builder{Devices: alone}, sparse, []float64{25, 49 + 1}},
		"all ones": {&Builder{Devices: alone}, &matrix.CSR{Rows: 4, Cols: 2, Starts: []int{0, 1, 2, 4, 5}, Columns: []int32{0, 1, 0, 1, 1}}, []float64{1, 2}},
	} {
		if got := c.b.squares(c.data, 2, 4); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Models in a ball, with l1, or with many weights have no scales, and neither have networks with
// many features, many units, relus or separate heads.
func TestWhereScalesAre(t *testing.T) {
	for _, c := range []struct {
		inputs     int
		hidden     []int
		activation models.Activation
		heads      models.Heads
		r          problem.RegularizerKind
		want       bool
	}{
		{inputs: 9, want: true}, {inputs: 9, r: problem.SquaredL2, want: true}, {inputs: 9, r: problem.Ball}, {inputs: 9, r: problem.L1},
		{inputs: mostScales/2 - 1, want: true}, {inputs: mostScales / 2},
		{inputs: 255, hidden: []int{2}, want: true}, {inputs: 256, hidden: []int{2}}, {inputs: 9, hidden: []int{2}, r: problem.Ball},
		{inputs: 9, hidden: []int{2}, heads: models.Separate}, {inputs: 29, hidden: []int{2047}, want: true}, {inputs: 29, hidden: []int{2048}},
		{inputs: 9, hidden: []int{2}, activation: models.ReLU}, {inputs: 255, hidden: []int{64}, want: true}, {inputs: 255, hidden: []int{65}},
	} {
		b := &Builder{Devices: alone, Model: models.Spec{Inputs: c.inputs, Outputs: 2, Hidden: c.hidden, Activation: c.activation, Heads: c.heads}, Regularizer: problem.Regularizer{Kind: c.r}}
		if b.HasScales() != c.want {
			t.Errorf("%+v: scales %v", c, !c.want)
		}
	}
}

// scaledOnes returns T times the vector of ones: the numbers of a diagonal T.
func scaledOnes(scales *problem.Scales) []float64 {
	v := slices.Repeat([]float64{1}, scales.Len())
	scales.Multiply(v)
	return v
}

// The second moments are over 100 to 300 rows for each feature, and over fewer if there are fewer
// or if the features are many: then over 2^28/n^2 rows or more, at least 20 for each.
func TestMomentsStride(t *testing.T) {
	for _, c := range []struct{ rows, n, want int }{
		{999, 10, 1}, {2999, 10, 1}, {3000, 10, 3}, {4999, 10, 3}, {41188, 64, 5}, {1 << 20, 160, 99}, {1 << 20, 256, 203}, {5120, 256, 1},
	} {
		if got := momentsStride(c.rows, c.n); got != c.want {
			t.Errorf("%d rows of %d features: every %d-th, want %d", c.rows, c.n, got, c.want)
		}
	}
}

// Every stride-th row is counted from the first row of all processes.
func TestEveryStridethRow(t *testing.T) {
	part := &matrix.Part{Rows: 9, From: 3, Own: &matrix.Dense{Rows: 5, Cols: 1, Data: []float64{3, 4, 5, 6, 7}}}
	b := &Builder{Devices: alone, Center: []float64{1}, Scale: []float64{10}}
	var got []float64
	b.eachRow(part, 3, 8, 2, func(i int, row []float64) { got = append(got, float64(i), row[0]) })
	if !slices.Equal(got, []float64{4, 30, 6, 50}) {
		t.Errorf("rows %v, want 30 in row 4 and 50 in row 6", got)
	}
}

// gatherer is a matrix of one column that counts how its rows are read.
type gatherer struct {
	matrix.Dense
	lists, ranges int
}

func (g *gatherer) Float64(dst []float64, from, to int) { g.ranges++; g.Dense.Float64(dst, from, to) }
func (g *gatherer) Gather32(dst []float32, rows []int)  { panic("float32") }
func (g *gatherer) Gather64(dst []float64, rows []int) {
	g.lists++
	for k, i := range rows {
		dst[k] = g.Data[i]
	}
}

// Scattered rows are read as lists, so that a table in files counts the pages that each row loads.
func TestScatteredRowsAreGathered(t *testing.T) {
	g := &gatherer{Dense: matrix.Dense{Rows: 5, Cols: 1, Data: []float64{3, 4, 5, 6, 7}}}
	var got []float64
	(&Builder{Devices: alone}).eachRow(g, 0, 5, 3, func(i int, row []float64) { got = append(got, float64(i), row[0]) })
	if !slices.Equal(got, []float64{0, 3, 3, 6}) || g.lists != 1 || g.ranges != 0 {
		t.Errorf("rows %v in %d lists and %d ranges, want the rows 0 and 3 in a list", got, g.lists, g.ranges)
	}
}
