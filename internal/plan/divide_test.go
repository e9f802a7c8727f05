package plan_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph"
)

// shared runs the parts of a division with plain loops, and adds the sums over the parts.
type shared struct {
	t     *testing.T
	d     []*plan.Division // by part
	parts []*plan.Reference[float64]
}

// newShared divides a plan.
func newShared(t *testing.T, whole *plan.Plan, parts int) *shared {
	s := &shared{t: t}
	for k := range parts {
		d, err := whole.Divide(parts, k)
		if err != nil {
			t.Fatalf("%v\n%v", err, whole)
		}
		s.d = append(s.d, d)
		require.NoError(t, d.Part.Check())
		r := require.Value(plan.NewReference[float64](d.Part, 7))(t)
		s.parts = append(s.parts, r)
	}
	return s
}

func (s *shared) half(of func(p *plan.Plan) []plan.Region, exchanges []plan.Exchange) {
	regions := len(of(s.d[0].Part))
	for i := 0; i <= regions; i++ {
		for _, e := range exchanges {
			if e.Before == i {
				s.add(e.Sums)
			}
		}
		for k, r := range s.parts {
			if i < regions {
				if err := r.RunRegion(of(s.d[k].Part)[i]); err != nil {
					s.t.Fatal(err)
				}
			}
		}
	}
}

// add adds sums over the parts.
func (s *shared) add(sums []plan.View) {
	for _, v := range sums {
		for i := range v.Rows {
			total := make([]float64, v.Cols)
			for _, r := range s.parts {
				for j, x := range r.Row(v, i) {
					total[j] += x
				}
			}
			for _, r := range s.parts {
				copy(r.Row(v, i), total)
			}
		}
	}
}

func forward(p *plan.Plan) []plan.Region  { return p.Forward }
func backward(p *plan.Plan) []plan.Region { return p.Backward }

// run runs both halves twice and returns the results of a part, with the rows of all parts.
func (s *shared) run(p *plan.Plan, weights []float64, part int) (o outcome) {
	for range 2 {
		s.half(forward, s.d[0].Forward)
		for k, r := range s.parts {
			if err := r.SetCoefficients(s.d[k].Part, weights); err != nil {
				s.t.Fatal(err)
			}
		}
		s.half(backward, s.d[0].Backward)
	}
	for _, v := range slices.Concat([]plan.View{p.Objective}, p.Constraints, p.Watched) {
		if !s.d[0].Divides(v) {
			o.values = append(o.values, s.parts[part].Contents(v)...)
			continue
		}
		for k, r := range s.parts {
			o.values = append(o.values, r.Contents(s.d[k].View(v))...)
		}
	}
	for _, v := range p.Gradients {
		o.gradient = append(o.gradient, s.parts[part].Contents(v)...)
	}
	return o
}

// Two and three parts of every case give the values and the gradient of the whole plan, and every
// part has the same bits.
func TestDivide(t *testing.T) {
	exchanged := 0
	for _, c := range graphcases.All() {
		if c.Rows < 3 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			var whole *plan.Plan
			require.Value(c.Problem(tensor.Float64, keep{&whole}))(t)
			coefficients := 0
			for _, v := range whole.Coefficients {
				coefficients += v.Len()
			}
			exchanged += divided(t, whole, weightsOf(coefficients-1))
		})
	}
	if exchanged == 0 {
		t.Error("nothing was exchanged")
	}
}

// divided compares two and three parts of a plan with the whole plan, and returns the number of
// exchanges.
func divided(t *testing.T, whole *plan.Plan, weights []float64) (exchanges int) {
	want := reference[float64](t, whole, 0, weights)
	for _, parts := range []int{2, 3} {
		s := newShared(t, whole, parts)
		exchanges += len(s.d[0].Forward) + len(s.d[0].Backward)
		got := s.run(whole, weights, 0)
		compare(t, got, want, 1e-12, whole)
		for k := 1; k < parts; k++ {
			other := s.run(whole, weights, k)
			if !slices.EqualFunc(other.values, got.values, same) || !slices.EqualFunc(other.gradient, got.gradient, same) {
				t.Errorf("part %d of %d has other results", k, parts)
			}
		}
		work := int64(0)
		for _, d := range s.d {
			work += meansWork(d.Part)
		}
		if work != meansWork(whole) {
			t.Errorf("%d parts add %d members of groups, want %d", parts, work, meansWork(whole))
		}
	}
	return exchanges
}

// meansWork returns the work of a plan's means.
func meansWork(p *plan.Plan) (n int64) {
	for _, r := range p.Forward {
		for _, s := range r.Steps {
			if means, ok := s.(*plan.GroupMeans); ok {
				n += means.FLOPs()
			}
		}
	}
	return n
}

// Sums that are added to another value: the gradient of
// sum((x w)^2) + sum((y w)^2) + sum((z w)^2) is the sum of three products, of which the data has
// the rows of two. The data of the fourth term has as many rows as w.
func TestDivideSumsWithABase(t *testing.T) {
	must := gorgonia.Must
	for _, linear := range []bool{false, true} {
		build := func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			node := func(name string, rows, cols int) *gorgonia.Node {
				data := make([]float64, rows*cols)
				for i := range data {
					data[i] = float64((7*i+rows)%11) - 4
				}
				return matrix(g, tensor.Float64, name, rows, cols, data)
			}
			x, y, z, w := node("x", 9, 3), node("y", 9, 3), node("z", 2, 3), node("w", 3, 2)
			sum := func(n *gorgonia.Node) *gorgonia.Node { return must(gorgonia.Sum(n)) }
			term := func(x *gorgonia.Node) *gorgonia.Node { return sum(must(gorgonia.Square(must(gorgonia.Mul(x, w))))) }
			f := must(gorgonia.Add(must(gorgonia.Add(term(z), term(x))), term(y)))
			if linear { // its derivative is a constant of the data's rows, which every part has
				f = sum(must(gorgonia.Mul(x, w)))
			}
			return graph.Definition{Objective: f, Parameters: gorgonia.Nodes{w}, Inputs: gorgonia.Nodes{x, y}}, nil
		}
		_, whole := lower(t, build)
		added := 0
		for _, r := range whole.Backward {
			for _, s := range r.Steps {
				if p, ok := s.(*plan.Product); ok && p.TransA && p.Add {
					added++
				}
			}
		}
		if !linear && added != 2 {
			t.Fatalf("%d products are added, want 2\n%v", added, whole)
		}
		divided(t, whole, weightsOf(0))
	}
}

func same(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }

// keep is an engine that keeps the plan.
type keep struct{ plan **plan.Plan }

func (k keep) Compile(l *graph.Lagrangian) (c graph.Compiled, err error) {
	*k.plan, err = graphcases.Lower(l)
	return nil, err
}

// The parts have multiples of 128 rows if there are enough rows, and nearly as many rows else.
func TestDivideEnds(t *testing.T) {
	for _, test := range []struct {
		rows, parts int
		want        []int
	}{{7, 3, []int{2, 4, 7}}, {1000, 3, []int{256, 640, 1000}}, {255, 2, []int{127, 255}}, {256, 2, []int{128, 256}}} {
		var whole *plan.Plan
		c := graphcases.Expressions()[0]
		c.Rows = test.rows
		require.Value(c.Problem(tensor.Float64, keep{&whole}))(t)
		var ends []int
		for k, d := range newShared(t, whole, test.parts).d {
			if ends = append(ends, d.To); k > 0 && d.From != ends[k-1] {
				t.Errorf("part %d begins at row %d, and the one before it ends at row %d", k, d.From, ends[k-1])
			}
		}
		if !slices.Equal(ends, test.want) {
			t.Errorf("%d rows in %d parts end at %v, want %v", test.rows, test.parts, ends, test.want)
		}
	}
}

// Divide refuses steps that need all rows, and too few rows.
func TestDivideRefuses(t *testing.T) {
	build := func(f func(x, w *gorgonia.Node) *gorgonia.Node) func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		return func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			x := matrix(g, tensor.Float64, "x", 4, 3, make([]float64, 12))
			w := matrix(g, tensor.Float64, "w", 3, 1, make([]float64, 3))
			s := f(x, w)
			return graph.Definition{Objective: gorgonia.Must(gorgonia.Sum(s)), Parameters: gorgonia.Nodes{w}, Inputs: gorgonia.Nodes{x}}, nil
		}
	}
	for _, test := range []struct {
		f     func(x, w *gorgonia.Node) *gorgonia.Node
		parts int
		want  string
	}{
		{func(x, w *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Mul(x, w)) }, 5, "4 rows cannot be divided among 5 processes"},
		{func(x, w *gorgonia.Node) *gorgonia.Node { // x^T (x (x^T (x w))) mixes sums, but x x^T has all rows
			xt := gorgonia.Must(gorgonia.Transpose(x))
			return gorgonia.Must(gorgonia.Mul(gorgonia.Must(gorgonia.Mul(x, xt)), gorgonia.Must(gorgonia.Mul(x, w))))
		}, 2, "reads all rows"},
	} {
		_, p := lower(t, build(test.f))
		if _, err := p.Divide(test.parts, 0); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q\n%v", err, test.want, p)
		}
	}
}
