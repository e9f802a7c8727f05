package cpu_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

func pictureProblem(t testing.TB, c graphcases.Pictures, dtype tensor.Dtype, engine graph.Engine) *graph.Problem {
	t.Helper()
	return require.Value(c.Problem(dtype, engine))(t)
}

// On every level, convolutions and max-pooling have the values and gradients of Gorgonia's machine.
func TestConvolutionsAgreeWithGorgonia(t *testing.T) {
	for _, c := range graphcases.PictureCases() {
		if require.Racing && c.Name == "parts" {
			continue
		}
		want := numbers(t, pictureProblem(t, c, tensor.Float64, graph.Tape{}))
		for _, level := range levels() {
			d, err := cpu.New(level, 2)
			if err != nil {
				continue // this machine does not support the level
			}
			agree(t, fmt.Sprintf("%s, %v, float64", c.Name, level), numbers(t, pictureProblem(t, c, tensor.Float64, graph.On(d))), want, 1e-12)
			agree(t, fmt.Sprintf("%s, %v, float32", c.Name, level), numbers(t, pictureProblem(t, c, tensor.Float32, graph.On(d))), want, 2e-6)
			d.Close()
		}
	}
}

// The bits do not depend on the number of threads.
func TestConvolutionsOnAnyNumberOfThreads(t *testing.T) {
	c := graphcases.DigitPictures(61)
	var want [][]float64
	for threads := 1; threads <= 5; threads++ {
		d := require.Value(cpu.New(kernel.Best(), threads))(t)
		got := numbers(t, pictureProblem(t, c, tensor.Float32, graph.On(d)))
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d threads: %s", threads, diff)
		}
		d.Close()
	}
}

// Pictures of the classes may lie in any order, although blocks of pictures have few rows.
func TestPicturesInAnyOrder(t *testing.T) {
	model := require.Value(models.Sized(models.Conv{Picture: models.Picture{Channels: 1, Height: 28, Width: 28}, Channels: []int{8, 8}}, 784, 4))(t)
	device := require.Value(cpu.New(kernel.Best(), 2))(t)
	defer device.Close()
	data, class := newImages(90, 784), func(i int) int { return i * 7 % 4 }
	got := numbers(t, labelled(t, model, data, class, tensor.Float64, graph.On(device)))
	agree(t, "classes in turns", got, numbers(t, labelled(t, model, data, class, tensor.Float64, graph.Tape{})), 1e-9)
}

// The gradients of networks with strides, paddings, dilations, biases and max-pooling equal central
// differences of f, in float64. Relu and max-pooling have kinks; none lies within the differences
// of these cases.
func TestConvolutionDerivatives(t *testing.T) {
	d := require.Value(cpu.New(kernel.Best(), 2))(t)
	defer d.Close()
	for _, c := range graphcases.PictureCases() {
		if c.Name == "parts" {
			continue // slow: 33 filters 4 x 4 of 40 channels
		}
		p := pictureProblem(t, c, tensor.Float64, graph.On(d))
		n, m := p.Dims()
		x, g, got, gradient := make([]float64, n), make([]float64, m), make([]float64, n), p.Space().New()
		p.Space().Read(x, problem.Iterate)
		value := func() float64 {
			p.Space().Write(problem.Iterate, x)
			return require.Value(p.Forward(g))(t)
		}
		value()
		require.NoError(t, p.Backward(append([]float64{1}, make([]float64, m)...), gradient))
		p.Space().Read(got, gradient)
		const most = 60 // checked weights of a case
		for i := 0; i < n; i += 1 + n/most {
			const h = 1e-6
			keep := x[i]
			x[i] = keep + h
			up := value()
			x[i] = keep - h
			want := (up - value()) / (2 * h)
			x[i] = keep
			if math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s, weight %d: derivative %.10g, by differences %.10g", c.Name, i, got[i], want)
			}
		}
	}
}

// wide returns the elements of a matrix as floats.
func wide(x matrix.Matrix) *matrix.Dense {
	rows, cols := x.Dims()
	d := &matrix.Dense{Rows: rows, Cols: cols, Data: make([]float64, rows*cols)}
	x.Float64(d.Data, 0, rows)
	return d
}

// A network on 8-bit pictures has the bits of the network on the same floats, and no floats of all
// rows. It reads bytes and floats that are bound later, of which it keeps a copy, and takes memory
// again after a rest.
func TestPictureRows(t *testing.T) {
	const rows, cols = 90, 784
	model := require.Value(models.Sized(models.Conv{Picture: models.Picture{Channels: 1, Height: 28, Width: 28}, Channels: []int{4}}, cols, 4))(t)
	pictures := func(seed uint64, scale float64) *matrix.Bytes {
		rng, x := rand.New(rand.NewPCG(seed, 1)), matrix.NewBytes(rows, cols, scale)
		for i := range x.Data {
			x.Data[i] = uint8(rng.Uint32())
		}
		return x
	}
	class := func(i int) int { return i * 4 / rows }
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		var needs [2]uint64
		compile := func(i int, data matrix.Matrix) *graph.Problem {
			d := require.Value(cpu.New(kernel.Best(), 2))(t)
			t.Cleanup(func() { d.Close() })
			return labelled(t, model, data, class, dtype, graph.On(d.Checked(func(bytes uint64) error { needs[i] = bytes; return nil })))
		}
		first, second := pictures(1, 1./255), pictures(2, 0.01)
		p, q := compile(0, first), compile(1, wide(first))
		same := func(what string) {
			t.Helper()
			if diff := cmp.Diff(numbers(t, q), numbers(t, p)); diff != "" {
				t.Errorf("%v, %s: %s", dtype, what, diff)
			}
		}
		bind := func(p *graph.Problem, m matrix.Matrix) {
			t.Helper()
			require.NoError(t, p.Bind(0, m))
		}
		same("at first")
		if floats := rows * cols * uint64(dtype.Size()); needs[0]+floats > needs[1] {
			t.Errorf("%v: %d bytes, and %d with floats of the rows", dtype, needs[0], needs[1])
		}
		bind(q, wide(second))
		copied := *second
		copied.Data = slices.Clone(second.Data)
		bind(p, &copied)
		clear(copied.Data)
		same("bytes bound")
		stored := p.Stored(0)
		bind(p, first)
		if got := stored.ByteRow(7, make([]uint8, cols)); !slices.Equal(got, second.ByteRow(7, nil)) || stored.ByteScale() != second.Scale {
			t.Errorf("%v: a later Bind changed stored rows", dtype)
		}
		p.Rest()
		bind(p, wide(second))
		same("floats bound")
		bind(p, second)
		p.Rest()
		same("bytes bound after floats")
	}
}

// Pictures that a product reads too have the bits of the same floats, also after Bind: Bind fills
// every form that a step reads.
func TestPicturesOfProducts(t *testing.T) {
	const rows, side, cols = 50, 16, 256
	pictures := func(seed uint64) *matrix.Bytes {
		rng, x := rand.New(rand.NewPCG(seed, 1)), matrix.NewBytes(rows, cols, 1./255)
		for i := range x.Data {
			x.Data[i] = uint8(rng.Uint32())
		}
		return x
	}
	device := require.Value(cpu.New(kernel.Best(), 2))(t)
	defer device.Close()
	device = require.Value(device.With(plan.Float32))(t)
	factors := map[string]func(x, pictures *gorgonia.Node) *gorgonia.Node{
		"rows": func(x, _ *gorgonia.Node) *gorgonia.Node { return x },
		"pictures": func(_, pictures *gorgonia.Node) *gorgonia.Node {
			return gorgonia.Must(gorgonia.Reshape(pictures, tensor.Shape{rows, cols}))
		},
		"some columns": func(x, _ *gorgonia.Node) *gorgonia.Node {
			return gorgonia.Must(gorgonia.Slice(x, nil, gorgonia.S(0, cols/2)))
		},
	}
	for name, factor := range factors {
		for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			compile := func(data matrix.Matrix) *graph.Problem {
				return require.Value(graph.New(func(g *gorgonia.ExprGraph) (d graph.Definition, err error) {
					rng := rand.New(rand.NewPCG(3, 3))
					x := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("rows"), gorgonia.WithShape(rows, cols))
					pictures := gorgonia.Must(gorgonia.Reshape(x, tensor.Shape{rows, 1, side, side}))
					left := factor(x, pictures)
					filter, weights := graphcases.Normal(g, dtype, rng, "filter", 2, 1, 3, 3), graphcases.Normal(g, dtype, rng, "weights", left.Shape()[1], 16)
					maps := gorgonia.Must(gorgonia.Conv2d(pictures, filter, tensor.Shape{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}))
					d.Watch = gorgonia.Nodes{gorgonia.Must(gorgonia.Mul(left, weights))}
					d.Objective = gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(maps))))
					d.Constraints = gorgonia.Nodes{gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(d.Watch[0]))))}
					d.Parameters, d.Inputs, d.Data = gorgonia.Nodes{filter, weights}, gorgonia.Nodes{x}, []matrix.Matrix{data}
					return d, nil
				}, graph.On(device)))(t)
			}
			first, second := pictures(1), pictures(2)
			p := compile(first)
			for _, rows := range []matrix.Matrix{second, wide(first), first} {
				require.NoError(t, p.Bind(0, rows))
				if diff := cmp.Diff(numbers(t, compile(wide(rows))), numbers(t, p)); diff != "" {
					t.Errorf("%s, %v, %T bound: %s", name, dtype, rows, diff)
				}
			}
		}
	}
}

// After Rest, Backward and Watched return an error until the next Forward, which has the same bits.
func TestRest(t *testing.T) {
	device := require.Value(cpu.New(kernel.Best(), 2))(t)
	defer device.Close()
	check := func(name string, p, other *graph.Problem) {
		want := numbers(t, p)
		p.Rest()
		_, m := p.Dims()
		backward := p.Backward(make([]float64, m+1), p.Space().New())
		if _, watched := p.Watched(0); !errors.Is(backward, plan.ErrRests) || !errors.Is(watched, plan.ErrRests) {
			t.Errorf("%s at rest: %v, %v", name, backward, watched)
		}
		for _, q := range []*graph.Problem{other, p, other} { // other has the memory now
			if diff := cmp.Diff(want, numbers(t, q)); diff != "" {
				t.Errorf("%s after a rest: %s", name, diff)
			}
		}
	}
	for _, c := range graphcases.All() {
		check(c.Title(), compile(t, c, tensor.Float32, graph.On(device)), compile(t, c, tensor.Float32, graph.On(device)))
	}
	for _, c := range graphcases.PictureCases() {
		check(c.Title(), pictureProblem(t, c, tensor.Float32, graph.On(device)), pictureProblem(t, c, tensor.Float32, graph.On(device)))
	}
}

// Problems that yield take turns with the memory of their values. Their callers see no difference:
// after a pass of another problem, Backward and Watched return the bits of a problem that is alone.
func TestYield(t *testing.T) {
	device := require.Value(cpu.New(kernel.Best(), 2))(t)
	defer device.Close()
	forward := func(p *graph.Problem) {
		_, m := p.Dims()
		require.Value(p.Forward(make([]float64, m)))(t)
	}
	for _, c := range append(graphcases.PictureCases(), graphcases.DigitPictures(200)) {
		p, q := pictureProblem(t, c, tensor.Float32, graph.On(device)), pictureProblem(t, c, tensor.Float32, graph.On(device))
		values := func() (gradient, watched []float64) {
			n, m := p.Dims()
			d, gradient := p.Space().New(), make([]float64, n)
			require.NoError(t, p.Backward(slices.Repeat([]float64{1}, m+1), d))
			p.Space().Read(gradient, d)
			forward(q)
			return gradient, require.Value(p.AppendWatched(nil, 0))(t)
		}
		forward(p)
		gradient, watched := values()
		both := heap().HeapAlloc
		for _, p := range []*graph.Problem{p, q} {
			p.Rest()
			p.Yield()
			forward(p)
		}
		if got, gotWatched := values(); !slices.Equal(got, gradient) || !slices.Equal(gotWatched, watched) {
			t.Errorf("%s: %v and %v after another's pass, want %v and %v", c.Name, got, gotWatched, gradient, watched)
		}
		least := uint64(c.Rows * c.Channels * c.Height * c.Width * c.Layers[0].Filters) // a quarter of the first layer
		if one := heap().HeapAlloc; c.Rows == 200 && one+least > both {
			t.Errorf("%s: %d bytes, want %d less than %d", c.Name, one, least, both)
		}
		runtime.KeepAlive([]*graph.Problem{p, q})
	}
}

// heap returns the live memory.
func heap() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// A program at rest keeps no sums over rows: those of a network's biases are as long as its layers.
func TestRestFreesSums(t *testing.T) {
	const rows, side, channels, hidden = 64, 28, 16, 64
	device := require.Value(cpu.New(kernel.Best(), 2))(t)
	defer device.Close()
	pictures := matrix.NewBytes(rows, side*side, 1./255)
	for i := range pictures.Data {
		pictures.Data[i] = uint8(i)
	}
	for _, c := range []struct {
		model models.Architecture
		sums  int // the numbers of a slot, at least
	}{
		{models.Conv{Picture: models.Picture{Channels: 1, Height: side, Width: side}, Channels: []int{channels}}, channels * side * side},
		{models.Spec{Hidden: []int{hidden}}, hidden * side * side},
	} {
		model := require.Value(models.Sized(c.model, side*side, 4))(t)
		p := labelled(t, model, pictures, func(i int) int { return i * 4 / rows }, tensor.Float64, graph.On(device))
		numbers(t, p)
		running := heap()
		p.Rest()
		if freed := int64(running.HeapAlloc - heap().HeapAlloc); freed < int64(8*c.sums) {
			t.Errorf("%T: Rest frees %d bytes, want %d of a slot", c.model, freed, 8*c.sums)
		}
		runtime.KeepAlive(p)
	}
}
