//go:build gpu

package kernels_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/internal/require"
)

// rig holds an emulated device and the memory of a plan. Every buffer exists in both. A test runs a
// step on the device and in plan.Run and compares the buffers.
type rig[T plan.Float] struct {
	t        *testing.T
	rng      *rand.Rand
	d        *double.Driver
	s        *kernels.Set
	q        *queue
	memory   plan.Memory[T]
	at       []driver.Pointer // device addresses of the buffers
	computed map[int]bool     // buffers that may differ by rounding
	held     []driver.Pointer // allocations made by put
}

// queue is a stream of the emulated device.
type queue struct {
	d        *double.Driver
	scratch  []driver.Pointer
	counters driver.Pointer
}

func (q *queue) Launch(l *driver.Launch) error {
	return q.d.Launch(0, l)
}

func (q *queue) Clear(p driver.Pointer, bytes int) error { return q.d.Clear(0, p, bytes) }

// Scratch allocates exactly the requested size, so that the double finds writes beyond the end.
func (q *queue) Scratch(bytes int) (driver.Pointer, error) {
	p, err := q.d.Allocate(max(bytes, 1))
	q.scratch = append(q.scratch, p)
	return p, err
}

func (q *queue) Counters(n int) (driver.Pointer, error) {
	if q.counters == 0 {
		p, err := q.d.Allocate(4 * 1 << 14)
		if err != nil {
			return 0, err
		}
		if err := q.d.Clear(0, p, 4*counters); err != nil {
			return 0, err
		}
		q.counters = p
	}
	return q.counters, nil
}

// counters is the number of counters in device memory.
const counters = 1 << 12

func dtypeOf[T plan.Float]() kernels.Dtype {
	var x T
	if _, single := any(x).(float32); single {
		return kernels.Float32
	}
	return kernels.Float64
}

// labs opens the devices of the tests, one for each number type. Each device loads its kernels
// once.
var labs = [2]func() (*lab, error){
	sync.OnceValues(func() (*lab, error) { return newLab(kernels.Float32, double.Options{Strict: true}) }),
	sync.OnceValues(func() (*lab, error) { return newLab(kernels.Float64, double.Options{Strict: true}) }),
}

type lab struct {
	s       *kernels.Set
	q       *queue
	release func() error // releases the last rig
}

func newLab(dtype kernels.Dtype, o double.Options) (*lab, error) {
	d := double.Computing(o)
	s, err := kernels.Load(d, dtype)
	return &lab{s, &queue{d: d}, func() error { return nil }}, err
}

// newRig returns an empty rig and releases the last rig of the same number type.
func newRig[T plan.Float](t *testing.T, seed uint64) *rig[T] {
	t.Helper()
	l := require.Value(labs[dtypeOf[T]()]())(t)
	return rigOf[T](t, seed, l)
}

// rigOf returns an empty rig of a lab, and releases the last one.
func rigOf[T plan.Float](t *testing.T, seed uint64, l *lab) *rig[T] {
	t.Helper()
	if err := l.release(); err != nil {
		t.Fatalf("after the last test: %v", err)
	}
	r := &rig[T]{t: t, rng: rand.New(rand.NewPCG(7, seed)), d: l.q.d, s: l.s, q: l.q, computed: map[int]bool{}}
	l.release = r.release
	return r
}

// do fails the test on an error.
func (r *rig[T]) do(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// put copies bytes to the device.
func (r *rig[T]) put(b []byte) driver.Pointer {
	r.t.Helper()
	if len(b) == 0 {
		return 0
	}
	p, err := r.d.Allocate(len(b))
	r.do(err)
	r.do(r.d.Upload(0, p, b))
	r.held = append(r.held, p)
	return p
}

// release frees the memory of the rig. The double then reports writes outside an allocation.
func (r *rig[T]) release() error {
	var err error
	for _, p := range append(r.held, r.q.scratch...) {
		err = errors.Join(err, r.d.Free(p))
	}
	r.held, r.q.scratch = nil, nil
	return err
}

func bytesOf(list any) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, list)
	if err != nil {
		panic(err)
	}
	return b
}

// buffer makes a buffer on the host and on the device.
func (r *rig[T]) buffer(data []T) int {
	r.t.Helper()
	r.memory.Data = append(r.memory.Data, data)
	r.memory.First = append(r.memory.First, 0)
	r.at = append(r.at, r.put(bytesOf(data)))
	return len(r.at) - 1
}

// random returns a matrix of normal numbers inside a buffer that has gap more columns.
func (r *rig[T]) random(rows, cols, gap int) plan.View {
	data := make([]T, rows*(cols+gap))
	for i := range data {
		data[i] = T(r.rng.NormFloat64())
	}
	return plan.View{Buffer: r.buffer(data), Offset: gap / 2, Stride: cols + gap, Rows: rows, Cols: cols}
}

// result returns a matrix for results, filled with NaN, the poison value.
func (r *rig[T]) result(rows, cols, gap int) plan.View {
	data := make([]T, rows*(cols+gap))
	for i := range data {
		data[i] = T(math.NaN())
	}
	v := plan.View{Buffer: r.buffer(data), Offset: gap / 2, Stride: cols + gap, Rows: rows, Cols: cols}
	r.computed[v.Buffer] = true
	return v
}

// inPlace marks a matrix as computed, so that check allows rounding.
func (r *rig[T]) inPlace(v plan.View) plan.View {
	r.computed[v.Buffer] = true
	return v
}

// set changes an element on the host and on the device.
func (r *rig[T]) set(v plan.View, i, j int, x T) {
	r.t.Helper()
	at := v.Offset + i*v.Stride + j
	r.memory.Data[v.Buffer][at] = x
	r.do(r.d.Upload(0, r.at[v.Buffer].Offset(at*r.s.Dtype().Size()), bytesOf(x)))
	r.do(r.d.Synchronize(0)) // the device forgets the use of these bytes
}

// on returns the device operand of a view.
func (r *rig[T]) on(v plan.View) kernels.Operand {
	return kernels.Operand{At: r.at[v.Buffer].Offset(v.Offset * r.s.Dtype().Size()), Rows: v.Rows, Cols: v.Cols, Stride: v.Stride}
}

// step runs one step of a plan on the host.
func (r *rig[T]) step(s plan.Step) {
	r.t.Helper()
	sums := make([]float64, plan.Partials(s))
	r.do(plan.Run(s, &r.memory, 0, plan.Rows(s), sums))
	plan.Finish(s, &r.memory, sums)
}

// contents reads a buffer from the device.
func (r *rig[T]) contents(buffer int) []T {
	r.t.Helper()
	got := make([]T, len(r.memory.Data[buffer]))
	b := make([]byte, len(got)*r.s.Dtype().Size())
	r.do(r.d.Download(0, b, r.at[buffer]))
	if _, err := binary.Decode(b, binary.LittleEndian, got); err != nil {
		r.t.Fatal(err)
	}
	return got
}

// numbers reads n float64 numbers from the device.
func (r *rig[T]) numbers(p driver.Pointer, n int) []float64 {
	r.t.Helper()
	b, list := make([]byte, 8*n), make([]float64, n)
	r.do(r.d.Download(0, b, p))
	if _, err := binary.Decode(b, binary.LittleEndian, list); err != nil {
		r.t.Fatal(err)
	}
	return list
}

// near reports whether two numbers differ by at most the given units of roundoff, relative to the
// larger of the two numbers and scale.
func near[T plan.Float](got, want T, scale, units float64) bool {
	g, w := float64(got), float64(want)
	if math.IsNaN(w) || math.IsInf(w, 0) {
		return math.IsNaN(g) == math.IsNaN(w) && (math.IsNaN(w) || g == w)
	}
	unit := 0x1p-52
	if dtypeOf[T]() == kernels.Float32 {
		unit = 0x1p-23
	}
	return math.Abs(g-w) <= units*unit*max(math.Abs(w), scale)
}

// check compares all buffers. Computed buffers may differ by the given units of roundoff, relative
// to the larger of the numbers and scale. All other buffers agree to the bit.
func (r *rig[T]) check(scale, units float64) {
	r.t.Helper()
	for b, want := range r.memory.Data {
		got := r.contents(b)
		for i := range want {
			same := math.Float64bits(float64(got[i])) == math.Float64bits(float64(want[i]))
			if !same && !(r.computed[b] && near(got[i], want[i], scale, units)) &&
				!(math.IsNaN(float64(got[i])) && math.IsNaN(float64(want[i]))) {
				r.t.Errorf("buffer %d, element %d: %v, want %v", b, i, got[i], want[i])
				return
			}
		}
	}
	if r.q.counters != 0 {
		b := make([]byte, 4*counters)
		r.do(r.d.Download(0, b, r.q.counters))
		for i, x := range b {
			if x != 0 {
				r.t.Errorf("counter %d is left at %d", i/4, x)
			}
		}
	}
}

// shapes lists the matrices of the tests.
var shapes = []struct{ rows, cols, gap int }{
	{1, 1, 0}, {1, 5, 2}, {7, 1, 0}, {7, 1, 3}, {33, 3, 0}, {5, 32, 0}, {130, 17, 4}, {3, 260, 0}, {700, 4, 0}, {301, 33, 2},
}

// both runs a test for float32 and float64.
func both(t *testing.T, f32 func(t *testing.T), f64 func(t *testing.T)) {
	t.Run("float32", f32)
	t.Run("float64", f64)
}
