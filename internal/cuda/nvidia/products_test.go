//go:build gpu

package nvidia_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/internal/require"
)

// matrix is a row-major matrix with gaps between rows.
type matrix struct {
	rows, cols, stride int
	values             []float64
}

// small returns integers that all precisions hold exactly, so products are exact too.
func small(rng *rand.Rand, rows, cols, gap int) matrix {
	m := matrix{rows, cols, cols + gap, make([]float64, rows*(cols+gap))}
	for i := range m.values {
		m.values[i] = float64(rng.IntN(17) - 8)
	}
	return m
}

func (m matrix) at(i, j int) float64 { return m.values[i*m.stride+j] }

// op returns element (i, j) of m or of m's transpose.
func op(m matrix, trans bool, i, j int) float64 {
	if trans {
		i, j = j, i
	}
	return m.at(i, j)
}

// bytes encodes the values as a precision's operands or results.
func (m matrix) bytes(width int) []byte {
	var b []byte
	for _, v := range m.values {
		switch width {
		case 8:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		case 4:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		default:
			b = binary.LittleEndian.AppendUint16(b, uint16(math.Float32bits(float32(v))>>16))
		}
	}
	return b
}

func numbers(b []byte, width int) []float64 {
	var all []float64
	for i := 0; i < len(b); i += width {
		if width == 8 {
			all = append(all, math.Float64frombits(binary.LittleEndian.Uint64(b[i:])))
		} else {
			all = append(all, float64(math.Float32frombits(binary.LittleEndian.Uint32(b[i:]))))
		}
	}
	return all
}

// expected returns alpha op(A) op(B) + beta C, and C's values in the gaps between rows.
func expected(a, b, c matrix, transA, transB bool, inner int, alpha, beta float64) []float64 {
	want := slices.Clone(c.values)
	for i := range c.rows {
		for j := range c.cols {
			var sum float64
			for k := range inner {
				sum += op(a, transA, i, k) * op(b, transB, k, j)
			}
			want[i*c.stride+j] = alpha*sum + beta*c.at(i, j)
		}
	}
	return want
}

// Row-major products of every precision, transposition and scale, with gaps between rows, agree
// with the definition.
func TestMultiply(t *testing.T) {
	d := open(t)
	s := require.Value(d.NewStream())(t)
	t.Cleanup(func() { require.NoError(t, d.FreeStream(s)) })
	rng := rand.New(rand.NewPCG(1, 2))
	const rows, cols, inner = 5, 3, 4
	for _, p := range []struct {
		name      string
		precision driver.Precision
		in, out   int // bytes
	}{
		{"float32", driver.Float32, 4, 4}, {"tf32", driver.TF32, 4, 4}, {"float64", driver.Float64, 8, 8}, {"bf16", driver.BF16, 2, 4},
	} {
		for _, trans := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			for _, scale := range [][2]float64{{1, 0}, {0.5, 1}, {-2, 0.25}} {
				t.Run(fmt.Sprintf("%s A^T %v B^T %v alpha %v beta %v", p.name, trans[0], trans[1], scale[0], scale[1]), func(t *testing.T) {
					a, b, c := small(rng, rows, inner, 2), small(rng, inner, cols, 1), small(rng, rows, cols, 3)
					if trans[0] {
						a = small(rng, inner, rows, 2)
					}
					if trans[1] {
						b = small(rng, cols, inner, 1)
					}
					to := buffer(t, d, c.bytes(p.out))
					require.NoError(t, d.Multiply(s, &driver.Gemm{
						Precision: p.precision, Rows: rows, Cols: cols, Inner: inner, TransA: trans[0], TransB: trans[1],
						Alpha: scale[0], Beta: scale[1], A: buffer(t, d, a.bytes(p.in)), B: buffer(t, d, b.bytes(p.in)), C: to,
						StrideA: a.stride, StrideB: b.stride, StrideC: c.stride,
					}))
					got := make([]byte, len(c.values)*p.out)
					require.NoError(t, d.Download(s, got, to))
					want := expected(a, b, c, trans[0], trans[1], inner, scale[0], scale[1])
					if !slices.Equal(numbers(got, p.out), want) {
						t.Errorf("got %v, want %v", numbers(got, p.out), want)
					}
				})
			}
		}
	}
}

// Products of integers are exact, also in a strided batch, and also if the library has no batched
// integer products.
func TestMultiplyIntegers(t *testing.T) {
	const rows, cols, inner, count = 3, 8, 32, 2
	rng := rand.New(rand.NewPCG(3, 4))
	for _, fail := range []string{"", "cublasGemmStridedBatchedEx=15"} {
		t.Setenv("PPAL_STUB_FAIL", fail)
		d := open(t)
		a, b := make([]byte, rows*inner*count), make([]byte, cols*inner*count)
		for i := range a {
			a[i] = byte(rng.Uint32())
		}
		for i := range b {
			b[i] = byte(rng.IntN(255) - 127)
		}
		to := buffer(t, d, make([]byte, 4*rows*cols*count))
		g := driver.Gemm{Precision: driver.Int8, Rows: rows, Cols: cols, Inner: inner, TransB: true, Alpha: 1, A: buffer(t, d, a), B: buffer(t, d, b),
			C: to, StrideA: inner, StrideB: inner, StrideC: cols, Batch: count, StepA: rows * inner, StepB: cols * inner, StepC: rows * cols}
		require.NoError(t, d.Multiply(0, &g))
		got := make([]byte, 4*rows*cols*count)
		require.NoError(t, d.Download(0, got, to))
		for at := range rows * cols * count {
			k, i, j := at/(rows*cols), at/cols%rows, at%cols
			want := int32(0)
			for l := range inner {
				want += int32(int8(a[(k*rows+i)*inner+l])) * int32(int8(b[(k*cols+j)*inner+l]))
			}
			if x := int32(binary.LittleEndian.Uint32(got[4*at:])); x != want {
				t.Fatalf("%q: product %d, (%d, %d) is %d, want %d", fail, k, i, j, x, want)
			}
		}
	}
}

// Float32 products do not round their operands; TF32 products do.
func TestPrecision(t *testing.T) {
	d := open(t)
	x := float32(1 + 1.0/(1<<12))
	p, q, to := buffer(t, d, float32s(x)), buffer(t, d, float32s(1)), buffer(t, d, float32s(0))
	for precision, want := range map[driver.Precision]float32{driver.Float32: x, driver.TF32: 1} {
		require.NoError(t, d.Multiply(0, &driver.Gemm{Precision: precision, Rows: 1, Cols: 1, Inner: 1, Alpha: 1, A: p, B: q, C: to,
			StrideA: 1, StrideB: 1, StrideC: 1}))
		got := make([]byte, 4)
		require.NoError(t, d.Download(0, got, to))
		if x := math.Float32frombits(binary.LittleEndian.Uint32(got)); x != want {
			t.Errorf("precision %d: %v, want %v", precision, x, want)
		}
	}
}

// Every stream has its own handle and workspace, which are freed with the stream.
func TestHandles(t *testing.T) {
	lines := logTo(t)
	d := open(t)
	p := buffer(t, d, float32s(1))
	g := &driver.Gemm{Rows: 1, Cols: 1, Inner: 1, Alpha: 1, A: p, B: p, C: p, StrideA: 1, StrideB: 1, StrideC: 1}
	for range 2 {
		s := require.Value(d.NewStream())(t)
		require.NoError(t, errors.Join(d.Multiply(s, g), d.Multiply(s, g), d.FreeStream(s)))
	}
	all := strings.Join(lines(), "\n")
	want := "stream flags 1\nalloc 33554432\ncreate handle\nworkspace 33554432\ndestroy handle\nfree 33554432\n"
	if !strings.Contains(all, want+want[:len(want)-1]) {
		t.Errorf("got\n%s\nwant twice\n%s", all, want)
	}
}

func TestBadProducts(t *testing.T) {
	d := open(t)
	good := driver.Gemm{Rows: 2, Cols: 3, Inner: 4, StrideA: 4, StrideB: 3, StrideC: 3}
	for name, spoil := range map[string]func(g *driver.Gemm){
		"precision":     func(g *driver.Gemm) { g.Precision = 9 },
		"negative":      func(g *driver.Gemm) { g.Inner = -1 },
		"large":         func(g *driver.Gemm) { g.Rows = 1 << 31 },
		"stride of A":   func(g *driver.Gemm) { g.StrideA = 3 },
		"stride of A^T": func(g *driver.Gemm) { g.TransA, g.StrideA = true, 1 },
		"stride of B^T": func(g *driver.Gemm) { g.TransB = true },
		"stride of C":   func(g *driver.Gemm) { g.StrideC = 2 },
	} {
		g := good
		spoil(&g)
		if err := d.Multiply(0, &g); err == nil || !strings.HasPrefix(err.Error(), "cuda: multiply: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	empty := good
	empty.Rows = 0
	require.NoError(t, d.Multiply(0, &empty))
}
