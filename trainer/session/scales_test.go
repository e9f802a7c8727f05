package session

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
	"ppal/models"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// The scales are E[z^2]^(-1/4) for the weights of a feature and 1 for a bias, in the order of the
// graph's parameters, for every form of the rows. Second moments below a hundredth of the largest
// count as that.
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
		b := &builder{spec: k.spec, center: k.center, scale: k.scale}
		b.spec.Inputs, b.spec.Outputs = cols, max(1, k.spec.Outputs)
		b.scales = slices.Repeat([]float64{1}, (cols+1)*b.spec.Outputs)
		m := &method.PPALA{Primal: step.Settings{Kind: step.LBFGS}}
		e := &assembly{options: Options{Method: m}, devices: &devices{}, builder: b, data: &loaded{splits: []*split{{rows: rows{data: k.data, labels: make([]int, n)}}}}}
		if err := e.setScales(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(k.want, b.scales, within(1e-12)); diff != "" {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
	}
}

// The sums of squares over the rows of this process.
func TestSquaresOfParts(t *testing.T) {
	bytes := &matrix.Bytes{Rows: 2, Cols: 2, Data: []uint8{3, 4, 1, 2}, Scale: 2}
	sparse := &matrix.SparsePart{CSR: matrix.CSR{Rows: 4, Cols: 2, Starts: []int{0, 0, 0, 2, 3}, Columns: []int32{0, 1, 1}, Values: []float64{5, 7, 1}}, From: 2, To: 4}
	for name, c := range map[string]struct {
		b    builder
		data matrix.Matrix
		want []float64
	}{
		"bytes":    {builder{center: []float64{1, 2}, scale: []float64{1, 3}}, matrix.NewEightBitPart(4, 2, bytes), []float64{25 + 1, 9 * (36 + 4)}},
		"sparse":   {builder{}, sparse, []float64{25, 49 + 1}},
		"all ones": {builder{}, &matrix.CSR{Rows: 4, Cols: 2, Starts: []int{0, 1, 2, 4, 5}, Columns: []int32{0, 1, 0, 1, 1}}, []float64{1, 2}},
	} {
		if got := c.b.squares(c.data, 2, 4); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Only quasi-Newton steps read the rows for scales: from the first iteration on, or after batches.
func TestScalesOfOtherSteps(t *testing.T) {
	for _, c := range []struct {
		kind    step.Kind
		batches *batches
		want    bool
	}{{step.LBFGS, nil, true}, {step.Nesterov, nil, false}, {step.Nesterov, &batches{}, true}} {
		e := &assembly{options: Options{Method: &method.PPALA{Primal: step.Settings{Kind: c.kind}}}, batches: c.batches, builder: &builder{scales: []float64{1}}}
		if e.usesScales() != c.want {
			t.Errorf("%v: scales %v", c.kind, !c.want)
		}
	}
}

// Models with hidden layers have no scales, and neither have models in a ball, with l1, or with
// many weights.
func TestWhereScalesAre(t *testing.T) {
	for _, c := range []struct {
		inputs int
		hidden []int
		r      problem.RegularizerKind
		want   bool
	}{
		{9, nil, problem.NoRegularizer, true}, {9, nil, problem.SquaredL2, true}, {9, nil, problem.Ball, false}, {9, nil, problem.L1, false},
		{9, []int{2}, problem.NoRegularizer, false}, {mostScales/2 - 1, nil, problem.NoRegularizer, true}, {mostScales / 2, nil, problem.NoRegularizer, false},
	} {
		b := &builder{spec: models.Spec{Inputs: c.inputs, Outputs: 2, Hidden: c.hidden}, regularizer: problem.Regularizer{Kind: c.r}}
		if b.hasScales() != c.want {
			t.Errorf("%+v: scales %v", c, !c.want)
		}
	}
}

// The problem of a linear model has the scales, with all rows and where the last iterations of
// mini-batches begin.
func TestProblemsHaveScales(t *testing.T) {
	for _, batch := range []int{0, 2} {
		s := buildOptions(t, onTable(DemographicParity{}, CSV(integersFile(t, "2"), "y", "sex=a"), func(o *Options) { o.BatchSize = batch }))
		p := s.Problem()
		if batch > 0 {
			p = s.batches.all
		}
		if got := problem.FeaturesOf(p).Scales; len(got) != s.parameters {
			t.Errorf("batches of %d: %d scales of %d parameters", batch, len(got), s.parameters)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
