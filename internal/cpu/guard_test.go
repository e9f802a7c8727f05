package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/cpu"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// captured is a device that keeps the last plan that it compiled. The plan's executor is separate.
type captured struct {
	*cpu.Device
	plan   *plan.Plan
	single cpu.Executor[float32]
	double cpu.Executor[float64]
}

func (c *captured) Compile(p *plan.Plan, x problem.Vectors) (run plan.Program, err error) {
	c.plan = p
	if p.Dtype == tensor.Float32 {
		c.single, err = cpu.NewExecutor[float32](c.Device, p)
	} else {
		c.double, err = cpu.NewExecutor[float64](c.Device, p)
	}
	if err != nil {
		return nil, err
	}
	return c.Device.Compile(p, x)
}

// A step does not access memory outside its buffers and does not read scratch memory before it
// writes the scratch memory. The test moves every buffer of a device between pages that fault,
// fills scratch memory with NaN, and requires that an iteration gives the same bits as before the
// move.
func TestBuffersAreKept(t *testing.T) {
	require.NoRace(t, "TestThreadsDoNotChangeResults runs the same goroutines")
	rng := rand.New(rand.NewPCG(11, 12))
	for i := range 6 {
		n := randomNetwork(rng, i)
		checkBuffers(t, n, n.problem)
	}
	each := graphcases.Groups(0.05, constraints.Margins{Objective: constraints.Logistic, Constraints: constraints.Sigmoid})
	c := graphcases.Fair("groups", models.Spec{Inputs: 5, Hidden: []int{21}, Outputs: 1}, 491, graphcases.Values, each,
		graphcases.Scattered(491, 19, 0.2))
	checkBuffers(t, c.Name, func(t testing.TB, dtype tensor.Dtype, e graph.Engine) *graph.Problem { return compile(t, c, dtype, e) })
}

// randomNetwork returns a network with odd widths, classes of one row and incomplete last blocks.
func randomNetwork(rng *rand.Rand, i int) network {
	spec := models.Spec{Inputs: 1 + rng.IntN(70), Outputs: 2 + rng.IntN(4), Activation: []models.Activation{models.Sigmoid, models.Tanh, models.ReLU}[i%3]}
	for range i % 3 {
		spec.Hidden = append(spec.Hidden, 1+rng.IntN(70))
	}
	if i%4 == 1 && len(spec.Hidden) > 0 {
		spec.Heads = models.Separate
	}
	n := network{spec: spec, phi: constraints.Phis()[i/3%3], center: i%2 == 0, seed: uint64(i)}
	for range spec.Outputs {
		n.counts = append(n.counts, []int{1, 1 + rng.IntN(20), 1 + rng.IntN(600)}[rng.IntN(3)])
	}
	return n
}

// checkBuffers runs a problem on devices of all levels, on one thread and on several threads.
func checkBuffers(t *testing.T, what any, build func(t testing.TB, dtype tensor.Dtype, e graph.Engine) *graph.Problem) {
	t.Helper()
	for _, level := range levels() {
		for i, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64, tensor.Float32, tensor.Float64} {
			threads, atEnd := []int{3, 1, 1, 3}[i], i < 2
			t.Run(fmt.Sprintf("%v/%d/%v", level, threads, dtype), func(t *testing.T) { // the subtest's end frees the guard pages
				device := require.Value(cpu.New(level, threads))(t)
				defer device.Close()
				d := &captured{Device: device}
				build(t, dtype, graph.On(d))
				same := false
				if dtype == tensor.Float32 {
					same = sameWhenMoved(t, d.plan, d.single, atEnd)
				} else {
					same = sameWhenMoved(t, d.plan, d.double, atEnd)
				}
				if !same {
					t.Errorf("%+v: results depend on what lies around the buffers, or was in them", what)
				}
			})
		}
	}
}

// sameWhenMoved runs an iteration, moves the executor's buffers and runs the iteration again.
func sameWhenMoved[T plan.Float](t *testing.T, p *plan.Plan, e cpu.Executor[T], atEnd bool) bool {
	want := outputs(t, p, e) // also grows the buffers that grow on first use
	m := mover{t: t, atEnd: atEnd, moved: map[unsafe.Pointer]unsafe.Pointer{}, sizes: map[unsafe.Pointer]int{}}
	for _, m.measure = range []bool{true, false} {
		m.seen = map[unsafe.Pointer]bool{}
		m.walk(reflect.ValueOf(e), false)
	}
	if len(m.moved) < len(p.Buffers)/2 {
		t.Fatalf("%d buffers were moved, of %d of the plan and the device's own", len(m.moved), len(p.Buffers))
	}
	got := outputs(t, p, e)
	return slices.EqualFunc(got, want, func(a, b T) bool { return math.Float64bits(float64(a)) == math.Float64bits(float64(b)) })
}

// outputs returns the values and gradients of an iteration.
func outputs[T plan.Float](t *testing.T, p *plan.Plan, e cpu.Executor[T]) []T {
	t.Helper()
	require.NoError(t, e.Forward())
	var list []T
	weights := []float64{0.5}
	for _, v := range slices.Concat([]plan.View{p.Objective}, p.Constraints, p.Watched) {
		list = append(list, e.Contents(v)...)
	}
	for _, v := range p.Constraints {
		for i := range v.Len() {
			weights = append(weights, 1/float64(2+i))
		}
	}
	require.NoError(t, e.Backward(weights))
	for _, v := range p.Gradients {
		list = append(list, e.Contents(v)...)
	}
	return list
}

// mover moves all arrays of numbers that an executor reaches between guard pages. Slices that share
// an array still share an array afterwards.
type mover struct {
	t       testing.TB
	atEnd   bool
	measure bool                   // record sizes only, do not move
	sizes   map[unsafe.Pointer]int // bytes of an array, by its first element
	moved   map[unsafe.Pointer]unsafe.Pointer
	seen    map[unsafe.Pointer]bool // pointers already walked
}

// written lists the fields whose arrays the steps write before they read them.
var written = []string{"sums", "tile", "panels", "room", "temporary", "transposed", "rows", "out"}

// walk visits every value that v reaches. If scratch is set, the arrays keep nothing from one
// iteration to the next.
func (m *mover) walk(v reflect.Value, scratch bool) {
	switch v.Kind() {
	case reflect.Interface:
		m.walk(v.Elem(), scratch)
	case reflect.Pointer:
		if p := v.UnsafePointer(); p != nil && !m.seen[p] && strings.HasPrefix(v.Type().Elem().PkgPath(), "ppal/internal/") {
			m.seen[p] = true
			m.walk(v.Elem(), scratch)
		}
	case reflect.Struct:
		m.buffers(v)
		for i := range v.NumField() {
			m.walk(v.Field(i), scratch || slices.Contains(written, v.Type().Field(i).Name))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if k := it.Value().Kind(); k == reflect.Pointer || k == reflect.Interface { // the steps reach all other values
				m.walk(it.Value(), scratch)
			}
		}
	case reflect.Slice, reflect.Array:
		switch v.Type().Elem().Kind() {
		case reflect.Float32, reflect.Float64, reflect.Int, reflect.Int8, reflect.Int32, reflect.Uint8:
			m.array(v, scratch)
		default:
			for i := range v.Len() {
				m.walk(v.Index(i), scratch)
			}
		}
	}
}

// buffers visits the arrays of a plan's buffers. A plan writes the buffers of class Gradient and of
// all later classes before it reads them.
func (m *mover) buffers(v reflect.Value) {
	if v.Type().Name() != "executor[float32]" && v.Type().Name() != "executor[float64]" {
		return
	}
	p := v.FieldByName("plan").Elem().FieldByName("Buffers")
	data := v.FieldByName("Memory").Elem().FieldByName("Data")
	for i := range p.Len() {
		class := plan.Class(p.Index(i).FieldByName("Class").Uint())
		m.array(data.Index(i), class >= plan.Gradient)
		for w := range v.FieldByName("workers").Len() {
			own := v.FieldByName("workers").Index(w).Elem().FieldByName("Memory").Elem().FieldByName("Data")
			m.array(own.Index(i), class >= plan.Gradient)
		}
	}
}

// array moves the array of a slice, or points the slice to the array's new place.
func (m *mover) array(v reflect.Value, scratch bool) {
	if v.Kind() == reflect.Array || v.Len() == 0 {
		return
	}
	from, size := v.UnsafePointer(), int(v.Type().Elem().Size())
	if m.measure {
		m.sizes[from] = max(m.sizes[from], v.Len()*size)
		return
	}
	to, ok := m.moved[from]
	if !ok {
		bytes := m.sizes[from]
		if bytes == 0 { // the array was already moved
			return
		}
		buffer := require.Guarded(m.t, bytes, m.atEnd)
		copy(buffer, unsafe.Slice((*byte)(from), bytes))
		to = unsafe.Pointer(&buffer[0])
		m.moved[from] = to
		if scratch {
			spoil(to, bytes/size, v.Type().Elem().Kind())
		}
	}
	header := (*[3]uintptr)(unsafe.Pointer(v.UnsafeAddr()))
	*(*unsafe.Pointer)(unsafe.Pointer(header)) = to
	header[2] = header[1] // no spare capacity
}

// spoil fills an array with NaN.
func spoil(p unsafe.Pointer, n int, kind reflect.Kind) {
	switch kind {
	case reflect.Float32:
		for i := range unsafe.Slice((*float32)(p), n) {
			unsafe.Slice((*float32)(p), n)[i] = float32(math.NaN())
		}
	case reflect.Float64:
		for i := range unsafe.Slice((*float64)(p), n) {
			unsafe.Slice((*float64)(p), n)[i] = math.NaN()
		}
	}
}
