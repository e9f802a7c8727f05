package loader

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/datasets/tabular"
	"ppal/internal/columnar"
)

// randomRows returns rows of columns of numbers, of which every seventh has missing values, and of
// categories, in turns of eleven.
func randomRows(n, columns int) *EncodedRows {
	rng := rand.New(rand.NewPCG(1, 2))
	m := &EncodedRows{}
	for j := range columns {
		c := preparedColumn{Encoding: &tabular.Encoding{Center: rng.NormFloat64(), Scale: 1 + rng.Float64()}, Column: &columnar.Column{}, at: m.cols}
		if j%11 == 10 {
			c.Categories, c.places = []string{"a", "b"}, []int{0, 1}
			for range n {
				c.Codes = append(c.Codes, int32(rng.IntN(2)))
			}
			m.cols += 2
			m.columns = append(m.columns, c)
			continue
		}
		for range n {
			x := rng.NormFloat64()
			if j%7 == 3 && rng.IntN(5) == 0 {
				x = math.NaN()
			}
			c.Numbers = append(c.Numbers, x)
		}
		if m.cols++; j%7 == 3 {
			m.cols++
		}
		m.columns = append(m.columns, c)
	}
	m.rows = rng.Perm(n)[:n*2/3]
	slices.Sort(m.rows)
	return m
}

// All forms of the rows have the features of the columns, also where several columns are read
// together.
func TestEncodedRows(t *testing.T) {
	for _, columns := range []int{1, 7, 8, 9, 23, 24, 40} {
		m := randomRows(300, columns)
		n := len(m.rows)
		want := make([]float64, n*m.cols)
		for i, row := range m.rows {
			for _, c := range m.columns {
				to := want[i*m.cols+c.at:]
				switch {
				case !c.Numeric():
					to[c.Codes[row]] = 1
				case math.IsNaN(c.Numbers[row]):
					to[1] = 1
				default:
					to[0] = (c.Numbers[row] - c.Center) / c.Scale
				}
			}
		}
		got, gathered, list := make([]float64, len(want)), make([]float64, len(want)), make([]int, n)
		for i := range list {
			list[i] = n - 1 - i
		}
		m.Float64(got, 0, n)
		m.Gather64(gathered, list)
		if !slices.Equal(got, want) {
			t.Errorf("%d columns: the rows differ from their columns", columns)
		}
		for i := range list {
			if !slices.Equal(gathered[i*m.cols:(i+1)*m.cols], want[(n-1-i)*m.cols:(n-i)*m.cols]) {
				t.Fatalf("%d columns: gathered row %d differs from its columns", columns, i)
			}
		}
		single := make([]float32, len(want))
		m.Float32(single, 0, n)
		for i, v := range single {
			if v != float32(want[i]) {
				t.Fatalf("%d columns: element %d is %v in float32, want %v rounded", columns, i, v, want[i])
			}
		}
	}
}

// BenchmarkGather64 reads the rows of a block of the certificate in float64, as many at a time as a
// worker does.
func BenchmarkGather64(b *testing.B) {
	for _, columns := range []int{30, 700} {
		b.Run(fmt.Sprintf("%d columns", columns), func(b *testing.B) {
			m := randomRows(20000, columns)
			const step = 24
			block := 736 / step * step
			out, list := make([]float64, block*m.cols), make([]int, block)
			b.SetBytes(int64(8 * len(out)))
			at := 0
			for b.Loop() {
				at = (at + block) % (len(m.rows) - block)
				for i := range list {
					list[i] = at + i
				}
				for i := 0; i < block; i += step {
					m.Gather64(out[i*m.cols:(i+step)*m.cols], list[i:i+step])
				}
			}
		})
	}
}
