package cpu_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/bench"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// waves is a data matrix of computed numbers.
type waves struct{ rows, cols int }

func (m waves) Dims() (rows, cols int) { return m.rows, m.cols }

func (m waves) at(k int) float64 { return float64(uint32(k)*2654435761>>16)/65536 - 0.5 }

func (m waves) Float32(dst []float32, from, to int) {
	for k := range dst[:(to-from)*m.cols] {
		dst[k] = float32(m.at(from*m.cols + k))
	}
}

func (m waves) Float64(dst []float64, from, to int) {
	for k := range dst[:(to-from)*m.cols] {
		dst[k] = m.at(from*m.cols + k)
	}
}

// rankingShape is a ranking of queries of equal size with two groups.
type rankingShape struct {
	name                      string
	queries, relevant, others int
}

func (s rankingShape) size() int { return s.relevant + s.others }

// problem builds the linear problem: f is the mean over all pairs and g the gap of the cross pairs.
func (s rankingShape) problem(t testing.TB, e graph.Engine) *graph.Problem {
	t.Helper()
	var d constraints.Documents
	for i := range s.queries * s.size() {
		d.Queries = append(d.Queries, int32(i/s.size()))
		d.Levels, d.Groups = append(d.Levels, map[bool]int{true: 1}[i%s.size() < s.relevant]), append(d.Groups, i%2)
	}
	pairs := must(constraints.NewPairs(d, 2, false))
	counts := pairs.Counts()
	mean := constraints.Group{Rows: []int{0, 1, 2, 3}}
	for _, n := range counts {
		mean.Weights = append(mean.Weights, float64(n)/float64(s.queries*s.relevant*s.others))
	}
	gap := constraints.Group{Rows: []int{1, 2}, Weights: []float64{1, -1}}
	const cols = 136
	spec := models.Spec{Inputs: cols, Outputs: 1}
	weights := must(models.Init(spec, rand.New(rand.NewPCG(1, 1))))
	for j := range cols {
		weights[0].Data[j] = 0.3 * math.Sin(float64(j))
	}
	p := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, err := models.New(g, spec, tensor.Float32, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		x := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("rows"), gorgonia.WithShape(len(d.Queries), cols))
		scores, err := net.Scores(x, nil)
		if err != nil {
			return graph.Definition{}, err
		}
		cells := must(must(constraints.NewPairMeans(pairs, constraints.Sigmoid)).Apply(scores))
		f := must(must(constraints.NewGroupMean(must(constraints.NewMembership(4, []constraints.Group{mean})), 0)).Apply(cells))
		c := must(must(constraints.NewGroupMeans(must(constraints.NewMembership(4, []constraints.Group{gap})), nil)).Apply(cells))
		return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{c}, Parameters: net.Parameters(), Inputs: gorgonia.Nodes{x},
			Data: []matrix.Matrix{waves{len(d.Queries), cols}}}, nil
	}, e))(t)
	return p
}

// processTime returns the CPU time of the process, which other processes hardly change.
func processTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Skip(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPairsOverBare compares iterations of a linear scorer with the two bare products and the
// bare kernels of the pairs, in turns, by their least CPU times, on one thread.
func BenchmarkPairsOverBare(b *testing.B) {
	for _, s := range []rankingShape{{"57,000 documents", 1000, 10, 47}, {"1.2 million documents", 10000, 16, 104}} {
		b.Run(s.name, func(b *testing.B) {
			device := require.Value(cpu.New(kernel.Best(), 1))(b)
			pairs := must(bench.NewPairs[float32](device, s.queries, s.relevant, s.others))
			bare := require.Value(bench.Dense[float32](device, s.queries*s.size(), 136, 1))(b)
			run := iteration(b, s.problem(b, graph.On(device)))
			run()
			timed := func(list []time.Duration, do func()) []time.Duration {
				start := processTime(b)
				do()
				return append(list, processTime(b)-start)
			}
			var products, kernels, times []time.Duration
			for b.Loop() {
				products, kernels = timed(products, func() { bare.Run() }), timed(kernels, func() { pairs.Run() })
				times = timed(times, run)
			}
			ms := func(list []time.Duration) float64 { return 1e3 * slices.Min(list).Seconds() }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(products), "products-ms")
			b.ReportMetric(ms(kernels), "pairs-ms")
			b.ReportMetric(ms(times), "ms")
			b.ReportMetric(ms(times)/(ms(products)+ms(kernels)), "x-bare-min")
			b.Logf("%d pairs, %.2f ns a pair for the bare kernels", s.queries*s.relevant*s.others, 1e6*ms(kernels)/float64(s.queries*s.relevant*s.others))
		})
	}
}
