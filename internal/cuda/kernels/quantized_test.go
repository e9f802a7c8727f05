//go:build gpu

package kernels_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
)

// places allocates memory for every kind of quantized matrix and fills the memory with poison.
func places(r *rig[float32], rows, cols int) map[string]kernels.Quantized {
	allocate := func(n int) driver.Pointer { return r.put(bytes.Repeat([]byte{0xff}, n)) }
	stride := cols + 3
	all := map[string]kernels.Quantized{}
	for _, terms := range []int{2, 3} {
		to := kernels.BFloat16s{Stride: stride}
		for range terms {
			to.At = append(to.At, allocate(2*rows*stride))
		}
		all[fmt.Sprint("bf16x", terms)] = kernels.Quantized{Terms: to}
		for _, most := range []int{32, 4096} {
			d := kernels.NewDigits(rows, cols, terms, most, testScale)
			size, _, _ := d.Layout()
			all[fmt.Sprintf("int8x%d, blocks of %d", terms, most)] = kernels.Quantized{Digits: d.Place(allocate(size))}
		}
	}
	return all
}

// contentsOf returns all bytes of a quantized matrix.
func contentsOf(r *rig[float32], s kernels.Quantized, rows int) []byte {
	var all []byte
	get := func(at driver.Pointer, n int) {
		b := make([]byte, n)
		r.do(r.d.Download(0, b, at))
		all = append(all, b...)
	}
	for _, at := range s.Terms.At {
		get(at, 2*rows*s.Terms.Stride)
	}
	if s.Digits.At != 0 {
		size, _, _ := s.Digits.Layout()
		get(s.Digits.At, size)
	}
	return all
}

// The passes that compute the gradient of the activations quantize the gradient to the same bits as
// Quantize. Without Keep they write only the columns of the gradient that have no digits. Their
// sums agree up to the order of additions.
func TestFusedQuantization(t *testing.T) {
	launched := map[string]bool{}
	for seed, c := range []struct {
		rows, cols, scores, gap int
		f                       kernels.Activation
	}{
		{1, 1, 1, 2, kernels.Sigmoid}, {70, 9, 3, 2, kernels.Tanh}, {97, 33, 16, 2, kernels.ReLU}, {66, 5, 7, 2, kernels.Sigmoid},
		{9, 8, 4, 0, kernels.Tanh}, {301, 20, 4, 8, kernels.ReLU}, {703, 36, 4, 8, kernels.Sigmoid},
		{302, 20, 1, 0, kernels.ReLU}, {703, 8, 1, 8, kernels.Sigmoid}, {9, 8, 2, 8, kernels.ReLU}, {703, 36, 2, 8, kernels.Sigmoid},
		{703, 20, 8, 8, kernels.ReLU}, {301, 20, 8, 0, kernels.Sigmoid}, {97, 12, 16, 8, kernels.ReLU}, {703, 4, 16, 0, kernels.Sigmoid},
		{301, 8, 3, 8, kernels.ReLU}, {703, 12, 3, 0, kernels.Sigmoid}, {302, 20, 10, 0, kernels.ReLU}, {703, 8, 10, 8, kernels.Sigmoid},
		{97, 8, 5, 8, kernels.Sigmoid}, {301, 12, 6, 0, kernels.ReLU}, {99, 4, 7, 0, kernels.Sigmoid}, {302, 12, 9, 8, kernels.Sigmoid},
		{98, 8, 11, 0, kernels.Sigmoid}, {98, 8, 15, 0, kernels.ReLU},
	} {
		f := c.f
		r := newRig[float32](t, uint64(seed))
		a, d, w := r.random(c.rows, c.cols, c.gap), r.random(c.rows, c.scores, c.gap%8), r.random(c.cols, c.scores, 0)
		whole, left, sums, fused := r.result(c.rows, c.cols, 0), r.result(c.rows, c.cols, 0), r.result(1, c.cols, 0), r.result(1, c.cols, 0)
		g, fusedG := r.result(c.cols, c.scores, 0), r.result(c.cols, c.scores, 0)
		pass := kernels.OutputBackward{Activation: f, A: r.on(a), D: r.on(d), W: r.on(w), DA: r.on(whole), Bias: r.on(sums), G: r.on(g)}
		r.do(r.s.OutputBackward(r.q, pass))
		pass.DA, pass.Bias, pass.G = r.on(left), r.on(fused), r.on(fusedG)
		gradient, wanted := r.contents(whole.Buffer), [][]float32{r.contents(sums.Buffer), r.contents(g.Buffer)}
		for name, to := range places(r, c.rows, c.cols) {
			r.do(r.s.Quantize(r.q, to, r.on(whole), false))
			want := contentsOf(r, to, c.rows)
			for _, keep := range []bool{false, true} {
				pass.Quantized, pass.Keep = to, keep
				r.scrub(to, c.rows)
				r.do(r.s.OutputBackward(r.q, pass))
				calls := r.d.Calls()
				launched[calls[len(calls)-1].Name] = true
				if !bytes.Equal(contentsOf(r, to, c.rows), want) {
					t.Errorf("%s, %+v, %v: the pass and Quantize differ", name, c, f)
				}
				for i, x := range r.contents(left.Buffer) {
					if !keep && !math.IsNaN(float64(x)) || keep && x != gradient[i] {
						t.Fatalf("%s, %+v, keep %v: element %d of the gradient is %v", name, c, keep, i, x)
					}
				}
				for i, buffer := range []int{fused.Buffer, fusedG.Buffer} {
					for k, x := range r.contents(buffer) {
						if !near(x, wanted[i][k], float64(c.rows), 4) {
							t.Fatalf("%s, %+v: sum %d, %d is %v, want %v", name, c, i, k, x, wanted[i][k])
						}
					}
				}
			}
			r.do(r.d.Upload(0, r.at[left.Buffer], bytesOf(r.memory.Data[left.Buffer])))
		}
	}
	for _, scores := range kernels.WideScores {
		for _, f := range []string{"relu", "sigmoid"} {
			if name := fmt.Sprintf("output_digits_wide_%d_3_%s_f32", scores, f); !launched[name] {
				t.Errorf("no case launches %s", name)
			}
		}
	}
}

// The passes that compute the slopes write the same terms with sums and without sums.
func TestSlopesQuantize(t *testing.T) {
	for seed, c := range []struct{ rows, cols int }{{1, 1}, {70, 9}, {301, 33}} {
		for f := kernels.Identity; f <= kernels.ReLU; f++ {
			for _, summed := range []bool{false, true} {
				r := newRig[float32](t, uint64(seed))
				a, d := r.random(c.rows, c.cols, 2), r.random(c.rows, c.cols, 1)
				whole, sums, fused := r.inPlace(r.random(c.rows, c.cols, 1)), r.result(1, c.cols, 0), r.result(1, c.cols, 0)
				r.do(r.s.Copy(r.q, r.on(whole), r.on(d)))
				pass := kernels.Slopes{Activation: f, A: r.on(a), D: r.on(whole), Keep: true}
				if summed {
					pass.Sums = r.on(sums)
				}
				r.do(r.s.Slopes(r.q, pass))
				wanted := r.contents(sums.Buffer)
				for name, to := range places(r, c.rows, c.cols) {
					r.do(r.s.Quantize(r.q, to, r.on(whole), false))
					want, before := contentsOf(r, to, c.rows), r.contents(d.Buffer)
					r.scrub(to, c.rows)
					pass.D, pass.Quantized, pass.Keep = r.on(d), to, false
					if summed {
						pass.Sums = r.on(fused)
					}
					r.do(r.s.Slopes(r.q, pass))
					if !bytes.Equal(contentsOf(r, to, c.rows), want) {
						t.Errorf("%s, %+v, %v: the pass and Quantize differ", name, c, f)
					}
					for i, x := range r.contents(d.Buffer) {
						if x != before[i] {
							t.Fatalf("%s, %+v: element %d of the gradient was written", name, c, i)
						}
					}
					for k, x := range r.contents(fused.Buffer) {
						if summed && !near(x, wanted[k], float64(c.rows), 4) {
							t.Fatalf("%s, %+v: sum %d is %v, want %v", name, c, k, x, wanted[k])
						}
					}
				}
			}
		}
	}
}

// The passes write a column of the gradient that contains an infinity, in the blocks that contain
// the infinity, because the product reads these columns as floats.
func TestFusedQuantizationKeepsNonFinite(t *testing.T) {
	const rows, cols = 70, 9
	r := newRig[float32](t, 4)
	a, d := r.random(rows, cols, 0), r.random(rows, cols, 0)
	r.set(d, 40, 2, float32(math.Inf(1)))
	before := r.contents(d.Buffer)
	digits := placed(r, kernels.NewDigits(rows, cols, 3, 32, testScale))
	r.do(r.s.Slopes(r.q, kernels.Slopes{Activation: kernels.Tanh, A: r.on(a), D: r.on(d), Quantized: kernels.Quantized{Digits: digits}}))
	block := 40 / digits.Length
	for i, x := range r.contents(d.Buffer) {
		row, col := i/cols, i%cols
		v := r.memory.Row(a, row)[col]
		want := before[i]
		if col == 2 && row/digits.Length == block {
			want = (1 - v*v) * before[i]
		}
		if !near(x, want, 1, 4) {
			t.Errorf("(%d, %d) is %v, want %v", row, col, x, want)
		}
	}
}

// output_digits_wide keeps the gradients of a column with an infinity, in the infinity's block of
// rows.
func TestFourColumnsKeepNonFinite(t *testing.T) {
	for _, scores := range []int{4, 7} {
		keepNonFinite(t, scores)
	}
}

func keepNonFinite(t *testing.T, scores int) {
	const rows, cols = 70, 12
	r := newRig[float32](t, 4)
	a, d, w, da := r.random(rows, cols, 0), r.random(rows, scores, 0), r.random(cols, scores, 0), r.result(rows, cols, 0)
	r.set(a, 40, 6, float32(math.Inf(1)))
	r.set(w, 6, 1, 1)
	digits := placed(r, kernels.NewDigits(rows, cols, 3, 32, testScale))
	r.do(r.s.OutputBackward(r.q, kernels.OutputBackward{Activation: kernels.Sigmoid, A: r.on(a), D: r.on(d), W: r.on(w), DA: r.on(da),
		Quantized: kernels.Quantized{Digits: digits}}))
	block := 40 / digits.Length
	for i, x := range r.contents(da.Buffer) {
		row, col := i/cols, i%cols
		if col != 6 || row/digits.Length != block {
			if !math.IsNaN(float64(x)) {
				t.Errorf("(%d, %d) is %v, want no gradient", row, col, x)
			}
			continue
		}
		v, want := r.memory.Row(a, row)[col], float32(0)
		for j, y := range r.memory.Row(d, row) {
			want += y * r.memory.Row(w, col)[j]
		}
		if want *= v * (1 - v); !near(x, want, 1, 8) {
			t.Errorf("(%d, %d) is %v, want %v", row, col, x, want)
		}
	}
}

// scrub fills a quantized matrix with poison.
func (r *rig[T]) scrub(s kernels.Quantized, rows int) {
	fill := func(at driver.Pointer, n int) {
		b := bytes.Repeat([]byte{0xFF}, n)
		r.do(r.d.Upload(0, at, b))
	}
	for _, at := range s.Terms.At {
		fill(at, 2*rows*s.Terms.Stride)
	}
	if s.Digits.At != 0 {
		size, _, _ := s.Digits.Layout()
		fill(s.Digits.At, size)
	}
}
