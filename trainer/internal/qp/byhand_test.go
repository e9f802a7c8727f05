package qp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// quadraticOf returns the quadratic of the rows of H and of b.
func quadraticOf(b []float64, rows ...[]float64) *Quadratic {
	q := New(len(b))
	copy(q.Linear, b)
	for i, row := range rows {
		for j := range row[:i+1] {
			q.Hessian.SetSym(i, j, row[j])
		}
	}
	return q
}

func equal(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestSteepest(t *testing.T) {
	q := quadraticOf([]float64{-2, -1.5, -5, -1}, []float64{4, 0, 0, 0}, []float64{0, 1, 0, 0}, []float64{0, 0, 0, 0}, []float64{0, 0, 0, 9})
	none := make([]bool, 4)
	for _, c := range []struct {
		passive, blocked []bool
		want             int
	}{
		{none, none, 1}, // the slopes for columns of length 1 are 1, 3/2, none, 1/3
		{[]bool{false, true, false, false}, none, 0},
		{[]bool{false, true, false, false}, []bool{true, false, false, false}, 3},
		{[]bool{true, true, false, true}, none, -1},
	} {
		if got := newActiveSet(q, make([]float64, 4), c.passive, c.blocked).steepest(); got != c.want {
			t.Errorf("passive %v, blocked %v: %d, want %d", c.passive, c.blocked, got, c.want)
		}
	}
	if got := newActiveSet(quadraticOf([]float64{-1, -1}, []float64{1, 0}, []float64{0, 1}), []float64{0, 0}, none, none).steepest(); got != 0 {
		t.Errorf("of equal slopes %d, want the first", got)
	}
	// The terms of the slope have the sum 2000, and the slope is below 1e-13 of the sum.
	if got := newActiveSet(quadraticOf([]float64{-1e3 - 1.5e-10}, []float64{1}), []float64{1e3}, none, none).steepest(); got != -1 {
		t.Error("the rounding error of a slope counts as a slope")
	}
}

func TestDescendByHand(t *testing.T) {
	// Both targets are negative. The coordinate a with the shorter way blocks first. Without a, the
	// target of the other coordinate is 1.
	for _, a := range []int{0, 1} {
		b, y, want := []float64{-1, -1}, []float64{100, 100}, []float64{1, 1}
		b[a], y[a], want[a] = 2, 1, 0
		passive := []bool{true, true}
		if !newActiveSet(quadraticOf(b, []float64{1, -0.9}, []float64{-0.9, 1}), y, passive, nil).descend() || passive[a] || !passive[1-a] {
			t.Errorf("a = %d: the passive set is %v", a, passive)
		}
		equal(t, "two coordinates", y, want...)
	}
	// A target of 0 leaves the passive set, from 0 and from 1.
	for _, start := range []float64{0, 1} {
		y, passive := []float64{start}, []bool{true}
		if !newActiveSet(quadraticOf([]float64{0}, []float64{1}), y, passive, nil).descend() || passive[0] {
			t.Errorf("from %v: the passive set is %v", start, passive)
		}
		equal(t, "a target of 0", y, 0)
	}
	y, passive := []float64{0, 1}, []bool{true, true}
	if !newActiveSet(quadraticOf([]float64{0, -3}, []float64{1, 0}, []float64{0, 1}), y, passive, nil).descend() || passive[0] {
		t.Errorf("beside another coordinate: the passive set is %v", passive)
	}
	equal(t, "a target of 0 beside another", y, 0, 3)
	// Dependent columns.
	near := 1 - 0x1p-52
	for _, off := range []float64{1, near} {
		y, passive := []float64{1, 0}, []bool{true, true}
		if newActiveSet(quadraticOf([]float64{-1, -2}, []float64{1, off}, []float64{off, 1}), y, passive, nil).descend() || !passive[0] || !passive[1] {
			t.Errorf("dependent columns: the passive set is %v", passive)
		}
		equal(t, "dependent columns", y, 1, 0)
	}
}

// The columns 0 and 1 are dependent in float64. After the columns 0 and 2, column 1 is steeper than
// column 3.
func TestNonNegativeBlocks(t *testing.T) {
	q := columnsOf([][]float64{{1, 0, 0, 0}, {1, 1e-8, 0, 0}, {0, -1, 3, 0}, {0, 0, 0, 1}}, []float64{-1, 0.1, -0.5, -1e-10})
	want := []float64{1, 0, 0.16, 1e-10}
	for i, v := range q.NonNegative() {
		if !(math.Abs(v-want[i]) <= 1e-14*want[i]) {
			t.Errorf("y_%d = %v, want %v", i, v, want[i])
		}
	}
}

// The column 2 = column 0 + 2 column 1 + (0, 0, 0, 0, e) depends on columns 0 and 1 in float64, and
// waits until column 3 has replaced column 0. Then it replaces column 3. With y = (0, y_1, y_2, 0),
// the equations are 6 y_1 + 10 y_2 = 7 and 10 y_1 + (22 + d^2) y_2 = 13 + more, up to e^2.
func TestNonNegativeTriesBlockedColumnsAgain(t *testing.T) {
	const d, e, far, low = 0x1p-9, 0x1p-26, 8192, 0x1p-10
	const more = e*far - d*low
	q := columnsOf([][]float64{{1, 2, 1, d, 0}, {1, -2, 1, 0, 0}, {3, -2, 3, d, e}, {2, 0, 2, 0, 0}}, []float64{-1, 2, -2, low, -far})
	det := 32 + 6*d*d
	want := []float64{0, (24 + 7*d*d - 10*more) / det, (8 + 6*more) / det, 0}
	for i, v := range q.NonNegative() {
		if math.Abs(v-want[i]) > 1e-9 {
			t.Errorf("y_%d = %v, want %v", i, v, want[i])
		}
	}
}

func TestShiftByHand(t *testing.T) {
	q := quadraticOf([]float64{9, 9}, []float64{2, 1}, []float64{1, 3})
	q.Shift([]float64{5, 7}, []float64{1, 2})
	equal(t, "b", q.Linear, 1, 0) // the slope less Hy = (4, 7)
	New(0).Shift(nil, nil)
}

// TestHold compares with the formula, for a group of three coordinates between two free ones.
func TestHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	set := &Shares{Group: []int{-1, 0, 0, 0, -1}, Sums: []float64{-2}}
	for range 200 {
		q := New(5)
		for i := range 5 {
			q.Linear[i] = rng.NormFloat64()
			for j := range i + 1 {
				q.Hessian.SetSym(i, j, rng.NormFloat64())
			}
		}
		start := []float64{1 + rng.Float64(), 0.5, -3, 0.5, 1 + rng.Float64()}
		best, largest := 0, math.Inf(-1)
		for i := 1; i < 4; i++ {
			v := -(q.Linear[i] + q.Hessian.At(i, 0)*start[0] + q.Hessian.At(i, 4)*start[4]) + 2*q.Hessian.At(i, i)/2
			if v > largest {
				best, largest = i, v
			}
		}
		want := []float64{start[0], 0, 0, 0, start[4]}
		want[best] = -2
		y := slices.Clone(start)
		if moved := q.hold(y, set, 1); moved != math.Abs(-2-start[best]) {
			t.Errorf("moved by %v from %v", moved, start[best])
		}
		equal(t, "hold", y, want...)
	}
	y := []float64{0, -1}
	quadraticOf([]float64{0, 0}, []float64{1, 0}, []float64{0, 1}).hold(y, &Shares{Group: []int{0, 0}, Sums: []float64{-1}}, 0)
	equal(t, "of equal coordinates the first holds", y, -1, 0)
}

// The free coordinate 0 depends on the coordinate that holds the group's sum.
func TestSharesOfANegativeSum(t *testing.T) {
	q := quadraticOf([]float64{-3, -1, 0}, []float64{1, 0.5, 0}, []float64{0.5, 1, 0}, []float64{0, 0, 1})
	y := []float64{0, 0, -2}
	q.MinimiseShares(y, &Shares{Group: []int{-1, 0, 0}, Sums: []float64{-2}, Sweeps: 10, Tolerance: 1e-12})
	// With y_0 = 3: coordinate 1 has 1 - 1.5 + 1 and coordinate 2 has 0 + 1. Coordinate 2 holds.
	equal(t, "y", y, 3, 0, -2)
	q.Linear[1] = -5 // coordinate 1 holds from the first sweep on, and y_0 = 3 + 2/2
	y = []float64{0, 0, -2}
	q.MinimiseShares(y, &Shares{Group: []int{-1, 0, 0}, Sums: []float64{-2}, Sweeps: 10, Tolerance: 1e-12})
	equal(t, "y", y, 4, -2, 0)
	y = quadraticOf([]float64{-5, 0}, []float64{1, 0}, []float64{0, 1}).WithSums([]int{0, 0}, []float64{-1})
	equal(t, "a group at 0", y, -1, 0)
}

// The sweeps are Gauss-Seidel steps. They end when the change is at most 0.01 (1 + ||y||_1).
func TestSweepsEnd(t *testing.T) {
	q := quadraticOf([]float64{-100, -100}, []float64{1, 0.9}, []float64{0.9, 1})
	a, b := 0.0, 0.0
	for {
		a0, b0 := a, b
		a = 100 - 0.9*b
		b = 100 - 0.9*a
		if math.Max(math.Abs(a-a0), math.Abs(b-b0)) <= 0.01*(1+a+b) {
			break
		}
	}
	y := make([]float64, 2)
	q.MinimiseShares(y, &Shares{Group: []int{-1, -1}, Sweeps: 1000, Tolerance: 0.01})
	if !(math.Abs(y[0]-a) <= 1e-9 && math.Abs(y[1]-b) <= 1e-9) {
		t.Errorf("%v, want %v and %v", y, a, b)
	}
}

func TestExchangeWithoutCurvature(t *testing.T) {
	for _, c := range []struct {
		b, want []float64
		moved   float64
	}{{[]float64{1, 0}, []float64{0, 1}, 0.25}, {[]float64{0, 1}, []float64{1, 0}, 0.75}, {[]float64{1, 1}, []float64{0.25, 0.75}, 0}} {
		y := []float64{0.25, 0.75}
		if moved := quadraticOf(c.b, []float64{0, 0}, []float64{0, 0}).exchange(y, 1, 0); moved != c.moved {
			t.Errorf("b = %v: moved by %v, want %v", c.b, moved, c.moved)
		}
		equal(t, "y", y, c.want...)
	}
}

func TestMomentum(t *testing.T) {
	for _, c := range [][3]float64{{1, 0, 1.618033988749895}, {1.618033988749895, 0.28175352512532087, 2.193527085331054}} {
		if b, next := Momentum(c[0]); !(math.Abs(b-c[1]) <= 1e-15 && math.Abs(next-c[2]) <= 1e-15) {
			t.Errorf("Momentum(%v) = %v, %v, want %v", c[0], b, next, c[1:])
		}
	}
}

// scripted is an Objective with given values, targets and slopes. It lists the points of Value.
type scripted struct {
	values         [][2]float64 // with the sizes of the terms; the last repeats
	targets, slope [][]float64  // the last repeats
	seen           []float64    // the first coordinate of each point
}

func (s *scripted) Value(y []float64) (value, terms float64) {
	v := s.values[min(len(s.seen), len(s.values)-1)]
	s.seen = append(s.seen, y[0])
	return v[0], v[1]
}

func (s *scripted) Model([]float64) (target, slope []float64) {
	target, slope = s.targets[0], s.slope[0]
	if len(s.targets) > 1 {
		s.targets, s.slope = s.targets[1:], s.slope[1:]
	}
	return target, slope
}

func TestNewtonByHand(t *testing.T) {
	two := [][]float64{{4, 5}}   // moves (1, 1) by (3, 4)
	fall := [][]float64{{1, -2}} // the descent along the move is 3 - 8 = -5
	half := 1 - newtonDecrease*0.5*5
	for name, c := range map[string]struct {
		n    Newton
		f    scripted
		want []float64 // the first coordinate of each trial point
		y    []float64
	}{
		"terms as large as the descent":   {Newton{5, -1, 1, 0}, scripted{values: [][2]float64{{1, 5}}, targets: two, slope: fall}, nil, []float64{1, 1}},
		"terms of 3 and rounding of 2":    {Newton{5, -1, 2, 0}, scripted{values: [][2]float64{{1, 3}}, targets: two, slope: fall}, nil, []float64{1, 1}},
		"terms below the descent":         {Newton{1, -1, 1, 0}, scripted{values: [][2]float64{{1, 4}, {0, 0}}, targets: two, slope: fall}, []float64{4}, []float64{4, 5}},
		"a move of Still":                 {Newton{5, 1, 0, 0}, scripted{values: [][2]float64{{1, 0}, {0, 0}}, targets: [][]float64{{4, 3}}, slope: [][]float64{{-1, -1}}}, nil, []float64{1, 1}},
		"a move below a Still of 2":       {Newton{5, 2, 0, 0}, scripted{values: [][2]float64{{1, 0}, {0, 0}}, targets: two, slope: fall}, nil, []float64{1, 1}},
		"a move above Still":              {Newton{1, 1, 0, 0}, scripted{values: [][2]float64{{1, 0}, {0, 0}}, targets: two, slope: fall}, []float64{4}, []float64{4, 5}},
		"a decrease as large as Armijo's": {Newton{1, -1, 0, 0}, scripted{values: [][2]float64{{1, 0}, {1 + newtonDecrease*1*-5, 0}}, targets: two, slope: fall}, []float64{4}, []float64{4, 5}},
		"too small a decrease": {Newton{1, -1, 0, 0}, scripted{values: [][2]float64{{1, 0}, {1 - newtonDecrease, 0}, {0, 0}}, targets: two, slope: fall},
			[]float64{4, 2.5}, []float64{2.5, 3}},
		"half a step": {Newton{1, -1, 0, 0}, scripted{values: [][2]float64{{1, 0}, {2, 0}, {half - newtonDecrease, 0}}, targets: two, slope: fall},
			[]float64{4, 2.5}, []float64{2.5, 3}},
		"a value above, within the rounding": {Newton{1, -1, 0.1, 0}, scripted{values: [][2]float64{{1, 0}, {1.1, 2}, {0, 0}}, targets: two, slope: fall},
			[]float64{4}, []float64{4, 5}},
		"the second step starts at the first's value": {Newton{2, -1, 0, 0}, scripted{values: [][2]float64{{10, 0}, {5, 0}, {7, 0}, {4, 0}},
			targets: [][]float64{{3, 1}, {5, 1}}, slope: [][]float64{{-1, 0}, {-1, 0}}}, []float64{3, 5, 4}, []float64{4, 1}},
		"no step after a decrease by Least": {Newton{2, -1, 0, 0.5}, scripted{values: [][2]float64{{10, 0}, {5, 0}, {0, 0}}, targets: two, slope: fall}, []float64{4}, []float64{4, 5}},
		"a step after a larger decrease": {Newton{2, -1, 0, 0.5}, scripted{values: [][2]float64{{10, 0}, {4.9, 0}, {0, 0}}, targets: [][]float64{{4, 5}, {6, 7}}, slope: [][]float64{{-1, -1}, {-1, -1}}},
			[]float64{4, 6}, []float64{6, 7}},
		"the second step starts with the first's terms": {Newton{2, -1, 1, 0}, scripted{values: [][2]float64{{10, 0}, {5, 9}, {0, 0}},
			targets: two, slope: fall}, []float64{4}, []float64{4, 5}},
	} {
		y := []float64{1, 1}
		c.n.Minimise(y, &c.f)
		equal(t, name+": y", y, c.y...)
		equal(t, name+": trial points", c.f.seen[1:], c.want...)
	}
	// No trial point lowers the value.
	f, y := scripted{values: [][2]float64{{1, 0}, {2, 0}}, targets: two, slope: fall}, []float64{1, 1}
	Newton{Iterations: 3, Still: -1}.Minimise(y, &f)
	equal(t, "no decrease", y, 1, 1)
	if len(f.seen) != 1+newtonHalvings {
		t.Errorf("%d values without a decrease", len(f.seen))
	}
}
