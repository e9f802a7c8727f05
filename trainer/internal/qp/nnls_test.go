package qp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/vec"
)

// columnsOf makes the quadratic ||b + A y||^2/2 of the columns of A.
func columnsOf(a [][]float64, b []float64) *Quadratic {
	q := New(len(a))
	for i := range a {
		q.Linear[i] = vec.Dot(a[i], b)
		for j := 0; j <= i; j++ {
			q.Hessian.SetSym(i, j, vec.Dot(a[i], a[j]))
		}
	}
	return q
}

func (q *Quadratic) value(y []float64) float64 {
	sum := 0.0
	for i, v := range y {
		sum += v * (q.Linear[i] + q.slope(i, y)) / 2
	}
	return sum
}

// randomColumns draws count columns of length n; some are copies, sums or multiples of others,
// zero, or 10^3 times longer.
func randomColumns(rng *rand.Rand, n, count int) [][]float64 {
	a := make([][]float64, count)
	for i := range a {
		a[i] = make([]float64, n)
		kind := rng.IntN(8)
		if i < 2 {
			kind = 7
		}
		for k := range a[i] {
			switch kind {
			case 0:
				a[i][k] = a[i-1][k]
			case 1:
				a[i][k] = a[i-1][k] + a[i-2][k]
			case 2:
				a[i][k] = -a[i-1][k]
			case 3:
				a[i][k] = 0
			case 4:
				a[i][k] = 1e3 * rng.NormFloat64()
			default:
				a[i][k] = rng.NormFloat64()
			}
		}
	}
	return a
}

// byEnumeration returns the smallest value over all choices of the positive coordinates.
func byEnumeration(q *Quadratic) float64 {
	n := len(q.Linear)
	best := 0.0
	for set := range 1 << n {
		passive := make([]bool, n)
		for i := range n {
			passive[i] = set>>i&1 == 1
		}
		y := make([]float64, n)
		s := newActiveSet(q, make([]float64, n), passive, nil)
		part, ok := s.minimiser()
		for k, v := range part {
			y[s.index[k]] = v
		}
		for _, v := range y {
			ok = ok && v >= 0
		}
		if ok {
			best = math.Min(best, q.value(y))
		}
	}
	return best
}

func TestNonNegativeByEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for trial := range 3000 {
		n, count := 1+rng.IntN(6), 1+rng.IntN(5)
		b := make([]float64, n)
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		q := columnsOf(randomColumns(rng, n, count), b)
		y := q.NonNegative()
		size := 1.0
		for i, v := range y {
			if !(v >= 0) {
				t.Fatalf("trial %d: y_%d = %v", trial, i, v)
			}
			size += math.Abs(q.Linear[i]) * v
		}
		if got, want := q.value(y), byEnumeration(q); got > want+1e-11*size {
			t.Fatalf("trial %d: %v at %v, by enumeration %v", trial, got, y, want)
		}
	}
}

// Solutions of problems too large to enumerate meet the optimality conditions.
func TestNonNegativeIsOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for trial := range 300 {
		n, count := 5+rng.IntN(30), 10+rng.IntN(23)
		b := make([]float64, n)
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		q := columnsOf(randomColumns(rng, n, count), b)
		y := q.NonNegative()
		for i, v := range y {
			length := math.Sqrt(q.Hessian.At(i, i))
			s := q.slope(i, y) / math.Max(length, 1)
			if !(v >= 0) || s < -1e-6 || v > 0 && math.Abs(s) > 1e-6 {
				t.Fatalf("trial %d: y_%d = %v with the slope %v", trial, i, v, s)
			}
		}
	}
}

// TestWithSums solves problems on random products of simplices. No exchange between two members of
// a group lowers the value, compared with a fine search over the two members.
func TestWithSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for trial := range 300 {
		group := [][]int{{0, 0}, {0, 0, -1}, {0, 0, 1, 1, 1}, {0, 1, 1, -1}}[trial%4]
		n := 2 + rng.IntN(5)
		b := make([]float64, n)
		for i := range b {
			b[i] = 3 * rng.NormFloat64()
		}
		q := columnsOf(randomColumns(rng, n, len(group)), b)
		sums := []float64{rng.Float64(), 3 * rng.Float64()}
		if trial%7 == 0 {
			sums[0] = 0
		}
		y := q.WithSums(group, sums)
		total := make([]float64, 2)
		for i, g := range group {
			if !(y[i] >= 0) {
				t.Fatalf("trial %d: y_%d = %v", trial, i, y[i])
			}
			if g >= 0 {
				total[g] += y[i]
			}
		}
		for g, sum := range total {
			if slices.Contains(group, g) && math.Abs(sum-sums[g]) > 1e-12*(1+sums[g]) {
				t.Fatalf("trial %d: group %d sums to %v, want %v", trial, g, sum, sums[g])
			}
		}
		value := q.value(y)
		for range 200 { // a random feasible point is not lower
			z, part := make([]float64, len(y)), make([]float64, 2)
			for i, g := range group {
				z[i] = rng.ExpFloat64()
				if g >= 0 {
					part[g] += z[i]
				}
			}
			for i, g := range group {
				if g >= 0 {
					z[i] *= sums[g] / part[g]
				}
				z[i] = y[i] + 0.1*(z[i]-y[i])
			}
			if got := q.value(z); got < value-1e-9*(1+math.Abs(value)) {
				t.Fatalf("trial %d: %v at %v, less at %v: %v", trial, value, y, z, got)
			}
		}
	}
}

// NaN in the input causes neither an endless loop nor a panic. The caller refuses the certificate.
func TestNonNegativeOfNaN(t *testing.T) {
	q := columnsOf([][]float64{{math.NaN(), 1}, {1, 2}}, []float64{-1, -1})
	q.NonNegative()
	q.WithSums([]int{0, 0}, []float64{1})
}

// TestDependent compares the test for dependent columns with a factorization of all of them, for
// columns that are nearly sums of others. The test finds nearly all sets that minimiser refuses,
// and no other.
func TestDependent(t *testing.T) {
	rng, refused, found := rand.New(rand.NewPCG(6, 1)), 0, 0
	for trial := range 2000 {
		a := make([][]float64, 4)
		for i := range a {
			a[i] = make([]float64, 6)
			for k := range a[i] {
				a[i][k] = rng.NormFloat64()
			}
		}
		near := math.Pow(10, -5-5*rng.Float64())
		for k := range a[3] {
			a[3][k] = a[0][k] - 2*a[1][k] + near*a[3][k]
		}
		last := trial % 4 // the position of the sum
		a[last], a[3] = a[3], a[last]
		q := columnsOf(a, make([]float64, 6))
		passive := []bool{true, true, true, true}
		_, ok := newActiveSet(q, make([]float64, 4), passive, nil).minimiser()
		passive[last] = false
		got := newActiveSet(q, make([]float64, 4), passive, nil).dependent(last)
		if got && ok {
			t.Errorf("trial %d, distance %v: a column is dependent, and minimiser takes it", trial, near)
		}
		if !ok {
			refused++
			if got {
				found++
			}
		}
	}
	if refused < 500 || found < refused*9/10 {
		t.Errorf("%d of %d dependent columns found", found, refused)
	}
}
