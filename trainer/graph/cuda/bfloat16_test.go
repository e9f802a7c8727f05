package cuda_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	device "ppal/cuda"
	"ppal/cuda/driver"
	"ppal/cuda/recorder"
	"ppal/internal/graphcases"
	"ppal/models"
	"ppal/trainer/graph/cuda"
)

// Every case of 8-bit data runs in slices with all calls in order, and a steady iteration is the same as without.
func TestSlicedSequences(t *testing.T) {
	for _, rows := range []int{0, 3, 64} {
		d, r := recorded(t, device.Options{Slices: 3, MicroBatch: rows}, 0)
		for _, c := range graphcases.All() {
			if c.Storage == graphcases.Bytes && rows < c.Rows {
				t.Run(fmt.Sprintf("%d/%s", rows, c.Name), func(t *testing.T) { sequence(t, c, tensor.Float32, d, r) })
			}
		}
	}
}

// Products with the data are two or three of bfloat16, the smallest term's first, each added to the ones before, long sums in blocks;
// the other factor is cut once for them, for all slices of the rows where it is that of all. float64 and other data stay as they are.
func TestSlicedLaunches(t *testing.T) {
	large := graphcases.Network(models.Spec{Inputs: 9, Hidden: []int{20}}, []int{2500, 2000}, constraints.Sigmoid, false, graphcases.Bytes)
	for _, c := range []struct {
		name     string
		problem  graphcases.Case
		dtype    tensor.Dtype
		set      device.Options
		products string
		want     []string
	}{
		{"three", small(t), tensor.Float32, device.Options{Slices: 3}, "bf16x3", append(cut(3, 1), cut(3, 1)...)},
		{"two", small(t), tensor.Float32, device.Options{Slices: 2}, "bf16x2", append(cut(2, 1), cut(2, 1)...)},
		{"slices of rows", small(t), tensor.Float32, device.Options{Slices: 2, MicroBatch: 70}, "bf16x2",
			slices.Concat(cut(2, 1), multiplied(2, 1, false), // backwards, the forward half again
				cut(2, 1), cut(2, 1), multiplied(2, 1, false), []string{"split"}, multiplied(2, 1, true))},
		{"long sums", large, tensor.Float32, device.Options{Slices: 3}, "bf16x3", append(cut(3, 1), cut(3, 2)...)},
		{"float64", small(t), tensor.Float64, device.Options{Slices: 3}, "float64", []string{"precision 2", "precision 2"}},
		{"none", small(t), tensor.Float32, device.Options{}, "float32", []string{"precision 0", "precision 0"}},
		{"TF32", small(t), tensor.Float32, device.Options{Products: driver.TF32}, "tf32", []string{"precision 1", "precision 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, r := watched(t, c.set)
			p, err := c.problem.Problem(c.dtype, cuda.Engine(d))
			if err != nil {
				t.Fatal(err)
			}
			if p.Products() != c.products {
				t.Errorf("products in %s, want %s", p.Products(), c.products)
			}
			r.list = nil
			iterate(t, p, 1, p.NewVector())
			if !slices.Equal(r.list, c.want) {
				t.Errorf("%v,\nwant %v", r.list, c.want)
			}
		})
	}
}

// cut is a factor's split and its products, of a result that is new.
func cut(terms, blocks int) []string {
	return append([]string{"split"}, multiplied(terms, blocks, false)...)
}

// multiplied are the products with so many terms, in so many blocks: which term, and whether the result is added to.
func multiplied(terms, blocks int, add bool) (list []string) {
	for k := terms - 1; k >= 0; k-- {
		for range blocks {
			list = append(list, fmt.Sprintf("term %d, add %t", k, add))
			add = true
		}
	}
	return list
}

// noting is a recorder that notes products and splits as they come.
type noting struct {
	*recorder.Recorder
	terms map[driver.Pointer]int
	list  []string
}

func (n *noting) Launch(s driver.Stream, l *driver.Launch) error {
	if strings.HasPrefix(l.Name, "split_bf16") {
		n.list = append(n.list, "split")
		k := 0
		for _, w := range l.Writes {
			if w.At != 0 {
				n.terms[w.At] = k
				k++
			}
		}
	}
	return n.Recorder.Launch(s, l)
}

func (n *noting) Multiply(s driver.Stream, g *driver.Gemm) error {
	switch g.Precision {
	case driver.BF16:
		var from driver.Pointer // of the term that B is in
		for at := range n.terms {
			if at <= g.B {
				from = max(from, at)
			}
		}
		n.list = append(n.list, fmt.Sprintf("term %d, add %t", n.terms[from], g.Beta == 1))
	default:
		n.list = append(n.list, fmt.Sprint("precision ", g.Precision))
	}
	return n.Recorder.Multiply(s, g)
}

func watched(t *testing.T, o device.Options) (*device.Device, *noting) {
	t.Helper()
	r := &noting{Recorder: recorder.New(recorder.Options{}), terms: map[driver.Pointer]int{}}
	d, err := device.Open(r, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(d.Close(), errors.Join(r.Violations()...)); err != nil {
			t.Error(err)
		}
	})
	return d, r
}

// 8-bit data are 2 bytes an element on the device: no more is ever allocated than them, the terms and the rest.
func TestSlicedMemory(t *testing.T) {
	const rows, cols = 12_000, 1000
	c := graphcases.Network(models.Spec{Inputs: cols, Hidden: []int{8}}, []int{rows / 2, rows / 2}, constraints.Sigmoid, false, graphcases.Bytes)
	d, _ := recorded(t, device.Options{Slices: 3}, 0)
	p, err := c.Problem(tensor.Float32, cuda.Engine(d))
	if err != nil {
		t.Fatal(err)
	}
	iterate(t, p, 3, p.NewVector())
	const upload, rest = 4 << 20, 3 << 20
	if got := d.PeakBytes(); got > 2*rows*cols+upload+rest {
		t.Errorf("%d bytes for %d elements", got, rows*cols)
	}
}

// Rows that are bound are turned back into bytes; others are refused, and where.
func TestSlicedBind(t *testing.T) {
	d, r := recorded(t, device.Options{Slices: 3}, 0)
	p, err := small(t).Problem(tensor.Float32, cuda.Engine(d))
	if err != nil {
		t.Fatal(err)
	}
	v := p.NewVector()
	iterate(t, p, 3, v)
	captures := r.Count("EndCapture")
	values := make([]float32, 130*9)
	scale := 1.0 / 255
	for i := range values {
		values[i] = float32(float64(i%256) * scale)
	}
	bind := func() error { return p.Bind(0, tensor.New(tensor.WithShape(130, 9), tensor.WithBacking(values))) }
	if err := bind(); err != nil {
		t.Fatal(err)
	}
	iterate(t, p, 2, v)
	if got := r.Count("EndCapture"); got != captures {
		t.Errorf("captured anew: %d, %d before", got, captures)
	}
	for _, bad := range []float32{0.5, -float32(scale), float32(256 * scale), float32(math.NaN()), float32(math.Inf(1))} {
		values[2*9+4] = bad
		if err := bind(); err == nil || !strings.Contains(err.Error(), "cuda: row 2 of rows (130 x 9, leaf)") ||
			!strings.Contains(err.Error(), "in column 4, which is no 8-bit value") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestSlicesRefused(t *testing.T) {
	for _, n := range []int{-1, 1, 4} {
		if _, err := device.Open(recorder.New(recorder.Options{}), device.Options{Slices: n}); err == nil {
			t.Errorf("%d slices", n)
		}
	}
}
