package cpu_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// pictures is the problem of a network on 8-bit data, stored row by row or packed.
type pictures struct {
	network
	packed bool
	rows   *matrix.Bytes       // nil: use data()
	store  *kernel.PackedBytes // replaces rows if not nil
}

// data returns the rows of the problem's seed.
func (p pictures) data() *matrix.Bytes { return p.draw(p.seed) }

// other returns other rows with the same shape and scale.
func (p pictures) other() *matrix.Bytes { return p.draw(p.seed + 1000) }

func (p pictures) draw(seed uint64) *matrix.Bytes {
	rng := rand.New(rand.NewPCG(seed, 3))
	x := &matrix.Bytes{Cols: p.spec.Inputs, Scale: 3 * picture.PixelScale}
	for _, c := range p.counts {
		x.Rows += c
	}
	for range x.Rows * x.Cols {
		x.Data = append(x.Data, uint8(max(0, rng.IntN(400)-144))) // a third are zeros, as in pictures
	}
	return x
}

// packedRows returns the rows in the kernels' layout.
func (p pictures) packedRows(t testing.TB) *kernel.PackedBytes {
	x := p.data()
	t.Helper()
	own := sliced(t, kernel.Best(), 1, plan.AutoProducts).NewBytes(x.Rows, x.Cols, 1)
	own.SetRows(0, slices.Collect(slices.Chunk(x.Data, x.Cols)))
	own.SetScale(x.Scale)
	return own
}

func (p pictures) problem(t testing.TB, dtype tensor.Dtype, engine graph.Engine) *graph.Problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(p.seed, 2))
	weights := require.Value(models.Init(p.spec, rng))(t)
	x := p.data()
	if p.rows != nil {
		x = p.rows
	}
	var labels []int
	var names []string
	for k, c := range p.counts {
		names = append(names, string(rune('a'+k)))
		for range c {
			labels = append(labels, k)
		}
	}
	var data matrix.Matrix = x
	if p.store != nil {
		data = p.store
	} else if p.packed {
		data = p.packedRows(t)
	}
	made := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, err := models.New(g, p.spec, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		rows := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("rows"), gorgonia.WithShape(x.Rows, x.Cols))
		scores, err := net.Scores(rows, graphcases.Normal(g, dtype, rng, "center", 1, x.Cols))
		if err != nil {
			return graph.Definition{}, err
		}
		f, c, err := graphcases.NeymanPearson(0.3, p.surrogate()).Nodes(scores, &constraints.Population{Labels: labels, Classes: names})
		return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{c}, Parameters: net.Parameters(),
			Inputs: gorgonia.Nodes{rows}, Data: []matrix.Matrix{data}, Watch: gorgonia.Nodes{scores}}, err
	}, engine))(t)
	return made
}

func albums() []pictures {
	var list []pictures
	for i, spec := range []models.Spec{
		{Inputs: 130},
		{Inputs: 97, Hidden: []int{7}},
		{Inputs: 150, Hidden: []int{33}, Activation: models.Tanh},
		{Inputs: 101, Hidden: []int{40, 19}, Activation: models.ReLU},
		{Inputs: 99, Hidden: []int{18}, Heads: models.Separate},
	} {
		spec.Outputs = 4
		counts := []int{301, 13, 190, 250}
		list = append(list, pictures{network: network{spec: spec, phi: constraints.Phis()[i%3], counts: counts, seed: uint64(70 + i)}})
	}
	return list
}

// sliced returns a device that uses the given 8-bit products, and skips the test if the machine
// does not support them on this level.
func sliced(t testing.TB, level kernel.Level, threads int, products plan.Products) *cpu.Device {
	t.Helper()
	d, err := cpu.New(level, threads)
	require.NoError(t, err)
	if d, err = d.With(products); err != nil {
		t.Skip(err)
	}
	return d
}

// On every level, products with three digits are as close to float64 as float32 products are.
// Products with two digits are within their error bound.
func TestSlicesAgreeWithFloat64(t *testing.T) {
	for _, level := range kernel.Levels()[1:] {
		t.Run(level.String(), func(t *testing.T) {
			for _, p := range albums() {
				want := numbers(t, p.problem(t, tensor.Float64, graph.Tape{}))
				float := numbers(t, p.problem(t, tensor.Float32, graph.On(sliced(t, level, 2, plan.Float32))))
				for products, bound := range map[plan.Products]float64{plan.Int8x3: 0, plan.Int8x2: 1e-4} {
					for _, threads := range []int{1, 3} {
						problem := p.problem(t, tensor.Float32, graph.On(sliced(t, level, threads, products)))
						if got := problem.Products(); got != products.String() {
							t.Errorf("%v ran as %s", products, got)
						}
						got := numbers(t, problem)
						for i, what := range []string{"f and g", "gradient", "scores"} {
							most := max(bound, 1.5*distance(float[i], want[i]), 2e-7)
							if d := distance(got[i], want[i]); !(d <= most) {
								t.Errorf("%+v, %v, %d threads: %s differ by %.2g, want at most %.2g", p.spec, products, threads, what, d, most)
							}
						}
					}
				}
			}
		})
	}
}

// For any number of threads and on any level, the forward pass gives the same bits, as long as the
// other steps give the same bits. The backward pass repeats its bits for the same number of
// threads.
func TestSlicesRepeatToTheBit(t *testing.T) {
	p := pictures{network: network{spec: models.Spec{Inputs: 150, Hidden: []int{33}, Outputs: 4}, counts: []int{301, 270, 190, 250}, seed: 5}}
	first := map[int][][]float64{}
	for _, level := range kernel.Levels()[1:] {
		for _, threads := range []int{2, 1, 3, 2} {
			got := numbers(t, p.problem(t, tensor.Float32, graph.On(sliced(t, level, threads, plan.Int8x3))))
			if first[threads] == nil {
				first[threads] = got
			}
			if diff := cmp.Diff(first[2][2], got[2]); diff != "" {
				t.Errorf("%v, %d threads: scores: %s", level, threads, diff)
			}
			if diff := cmp.Diff(first[threads][1], got[1]); diff != "" {
				t.Errorf("%v, %d threads: gradient: %s", level, threads, diff)
			}
		}
	}
}

// The device reads packed data without a copy. Devices and engines that do not use the packed
// layouts read the same values.
func TestPackedBytes(t *testing.T) {
	engines := map[string]graph.Engine{"tape": graph.Tape{}}
	for _, products := range []plan.Products{plan.Float32, plan.Int8x3, plan.Int8x2} {
		engines[fmt.Sprint(products)] = graph.On(sliced(t, kernel.Best(), 3, products))
	}
	list := albums()
	if require.Racing { // the slices and the threads are the same for every network
		list = list[:2]
	}
	for name, engine := range engines {
		for _, p := range list {
			for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
				if dtype == tensor.Float64 && name != "tape" && name != "float32" {
					continue // float64 has one kind of products
				}
				p.packed = false
				want := numbers(t, p.problem(t, dtype, engine))
				p.packed = true
				if diff := cmp.Diff(want, numbers(t, p.problem(t, dtype, engine))); diff != "" {
					t.Errorf("%s, %+v, %v: %s", name, p.spec, dtype, diff)
				}
			}
		}
	}
}

// Products with digits also stay within their buffers.
func TestSlicesKeepBuffers(t *testing.T) {
	require.NoRace(t, "TestPackedBytes runs the same goroutines")
	sliced(t, kernel.Best(), 1, plan.Int8x3)
	for _, p := range albums() {
		checkBuffers(t, p.spec, p.problem)
	}
}

func TestSlicesAllocateNothing(t *testing.T) {
	for _, p := range albums() {
		for _, threads := range []int{1, 3} {
			problem := p.problem(t, tensor.Float32, graph.On(sliced(t, kernel.Best(), threads, plan.Int8x3)))
			if allocated := steadyAllocations(iteration(t, problem)); allocated > 0 {
				t.Errorf("%+v, %d threads: %v allocations an iteration", p.spec, threads, allocated)
			}
		}
	}
}

// Rows of bytes that Bind exchanges stay bytes. Bind refuses floats, even if they hold byte values,
// and bytes with another scale.
func TestBindBytes(t *testing.T) {
	for _, packed := range []bool{false, true} {
		p := albums()[1]
		p.packed = packed
		problem := p.problem(t, tensor.Float32, graph.On(sliced(t, kernel.Best(), 2, plan.Int8x3)))
		want := numbers(t, problem)
		for _, copies := range []bool{false, true} {
			other, data := p.other(), p.data()
			changed := p
			changed.rows, changed.packed = other, false
			bind := func(m matrix.EightBit) {
				t.Helper()
				if copies {
					m = copied{m}
				}
				require.NoError(t, problem.Bind(0, m))
			}
			bind(other)
			wanted := numbers(t, changed.problem(t, tensor.Float32, graph.On(sliced(t, kernel.Best(), 2, plan.Int8x3))))
			if diff := cmp.Diff(wanted, numbers(t, problem)); diff != "" {
				t.Errorf("packed %t, other rows, bound: %s", packed, diff)
			}
			bind(data)
			if diff := cmp.Diff(want, numbers(t, problem)); diff != "" {
				t.Errorf("packed %t, the same rows, bound: %s", packed, diff)
			}
			floats := &matrix.Dense{Rows: data.Rows, Cols: data.Cols, Data: make([]float64, len(data.Data))}
			data.Float64(floats.Data, 0, data.Rows)
			data.Scale *= 2
			for _, m := range []matrix.Matrix{floats, data} {
				if err := problem.Bind(0, m); !errors.Is(err, plan.ErrNotBytes) {
					t.Errorf("%T: %v", m, err)
				}
			}
			if diff := cmp.Diff(want, numbers(t, problem)); diff != "" {
				t.Errorf("packed %t, after rows that were refused: %s", packed, diff)
			}
		}
	}
}

// copied hides that 8-bit values are contiguous. It copies its rows to the caller's memory.
type copied struct{ matrix.EightBit }

func (c copied) ByteRow(i int, buffer []uint8) []uint8 {
	return buffer[:copy(buffer, c.EightBit.ByteRow(i, buffer))]
}

// The device returns 8-bit data as stored, in all forms. Binding other rows does not change the
// returned rows or the matrix that the problem was made from.
func TestStoredBytes(t *testing.T) {
	for _, p := range albums()[:3] { // a narrow product reads plain floats, a wide product packed floats
		for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			if require.Racing && dtype == tensor.Float64 {
				continue // the same goroutines
			}
			for _, products := range []plan.Products{plan.Float32, plan.Int8x3} {
				p.store = p.packedRows(t)
				problem := p.problem(t, dtype, graph.On(sliced(t, kernel.Best(), 2, products)))
				stored := problem.Stored(0)
				if _, packed := stored.(*kernel.PackedBytes); packed != (dtype == tensor.Float32 && products == plan.Int8x3) {
					t.Errorf("%v, %v: the data are a %T", dtype, products, stored)
				}
				require.NoError(t, problem.Bind(0, p.other()))
				data, changed := p.data(), p
				buffer := make([]uint8, data.Cols)
				for i := range data.Rows {
					for _, m := range []matrix.EightBit{p.store, stored} {
						if !slices.Equal(m.ByteRow(i, buffer), data.ByteRow(i, nil)) || m.ByteScale() != data.Scale {
							t.Fatalf("%v, %v: row %d of the %T differs", dtype, products, i, m)
						}
					}
				}
				changed.rows, changed.store = p.other(), nil
				want := numbers(t, changed.problem(t, dtype, graph.On(sliced(t, kernel.Best(), 2, products))))
				if diff := cmp.Diff(want, numbers(t, problem)); diff != "" {
					t.Errorf("%v, %v: after Bind: %s", dtype, products, diff)
				}
			}
		}
	}
}

// The device does not return floats as bytes if two bytes have the same float, and does not return
// other data as bytes.
func TestNotStored(t *testing.T) {
	p := albums()[0]
	p.rows = p.data()
	p.rows.Scale = 1e-45 // float32 rounds some multiples to the same number
	on := func() graph.Engine { return graph.On(sliced(t, kernel.Best(), 1, plan.Float32)) }
	if x := p.problem(t, tensor.Float32, on()).Stored(0); x != nil {
		t.Errorf("a scale that vanishes: %T", x)
	}
	problem := p.problem(t, tensor.Float64, on())
	if problem.Stored(0) == nil {
		t.Error("the data are not stored in float64")
	}
	require.NoError(t, problem.Bind(0, &matrix.Dense{Rows: p.rows.Rows, Cols: p.rows.Cols, Data: make([]float64, len(p.rows.Data))}))
	if x := problem.Stored(0); x != nil {
		t.Errorf("floats that were bound are a %T", x)
	}
}

// Binding a mini-batch of bytes allocates nothing.
func TestBindBytesAllocatesNothing(t *testing.T) {
	p := albums()[2]
	problem := p.problem(t, tensor.Float32, graph.On(sliced(t, kernel.Best(), 2, plan.Int8x3)))
	data := p.data()
	list := make([]int, data.Rows)
	for i := range list {
		list[i] = (7 * i) % len(list)
	}
	batch := matrix.Pick(data, list)
	if n := testing.AllocsPerRun(5, func() {
		require.NoError(t, problem.Bind(0, batch))
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Kept bytes have the numbers of the same bytes as data, with the same bits.
func TestKeepBytes(t *testing.T) {
	for _, products := range []plan.Products{plan.Float32, plan.Int8x3} {
		p := albums()[2]
		compile := func(p pictures) *graph.Problem {
			return p.problem(t, tensor.Float32, graph.On(sliced(t, kernel.Best(), 2, products)))
		}
		own := compile(p)
		uses, want := []func() error{}, [][][]float64{}
		for _, rows := range []*matrix.Bytes{p.other(), p.data()} {
			use := require.Value(own.Keep(0, rows))(t)
			p.rows = rows
			uses, want = append(uses, use), append(want, numbers(t, compile(p)))
		}
		for _, k := range []int{1, 0, 1} {
			require.NoError(t, uses[k]())
			if diff := cmp.Diff(want[k], numbers(t, own)); diff != "" {
				t.Errorf("%v, the kept rows %d: %s", products, k, diff)
			}
		}
		floats := &matrix.Dense{Rows: p.rows.Rows, Cols: p.rows.Cols, Data: make([]float64, len(p.rows.Data))}
		if _, err := own.Keep(0, floats); errors.Is(err, plan.ErrNotBytes) != (products == plan.Int8x3) {
			t.Errorf("%v: floats: error %v", products, err)
		}
	}
}

func TestProductsThatAreRefused(t *testing.T) {
	d := require.Value(cpu.New(kernel.Go, 1))(t)
	var lacking *plan.ProductsError
	if _, err := d.With(plan.Int8x2); !errors.As(err, &lacking) || lacking.Products != plan.Int8x2 ||
		lacking.Found != "the go kernels have neither here" {
		t.Errorf("plain Go has integer products: %v", err)
	}
	for _, p := range []plan.Products{plan.TF32, plan.BF16x3, plan.BF16x2} {
		if _, err := d.With(p); !errors.As(err, &lacking) || lacking.Products != p {
			t.Errorf("%v on the CPU: %v", p, err)
		}
	}
}
