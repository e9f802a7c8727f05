//go:build gpu

package kernels_test

import (
	"math"
	"testing"

	"ppal/constraints"
	"ppal/internal/cuda/kernels"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

// lossSizes lists numbers of rows and of classes.
var lossSizes = [][2]int{{1, 2}, {5, 3}, {130, 4}, {600, 10}, {1500, 2}, {40, 17}}

// margins makes losses on the host and on the device, with infinite, equal and undefined scores.
func margins[T plan.Float](r *rig[T], phi constraints.Phi, rows, classes, gap int) (describe.Margins, plan.View, kernels.Loss) {
	s := r.random(rows, classes, gap)
	special(r, s)
	m := describe.Margins{Labels: make([]int32, rows), Classes: classes, Phi: phi}
	for i := range m.Labels {
		m.Labels[i] = int32(r.rng.IntN(classes))
	}
	p, err := kernels.PhiOf(phi)
	r.do(err)
	return m, s, kernels.Loss{Kind: kernels.Margins, Phi: p, Labels: r.put(bytesOf(m.Labels)), Scores: r.on(s)}
}

func signs[T plan.Float](r *rig[T], phi constraints.Phi, rows, gap int) (describe.Signs, plan.View, kernels.Loss) {
	s := r.random(rows, 1, gap)
	special(r, s)
	m := describe.Signs{Labels: make([]int8, rows), Phi: phi}
	for i := range m.Labels {
		m.Labels[i] = int8(2*r.rng.IntN(2) - 1)
	}
	p, err := kernels.PhiOf(phi)
	r.do(err)
	return m, s, kernels.Loss{Kind: kernels.Signs, Phi: p, Labels: r.put(bytesOf(m.Labels)), Scores: r.on(s)}
}

func TestMarginLoss(t *testing.T) {
	both(t, marginLoss[float32], marginLoss[float64])
}

func marginLoss[T plan.Float](t *testing.T) {
	for i, size := range lossSizes {
		for _, phi := range constraints.Phis() {
			r := newRig[T](t, uint64(i))
			m, s, l := margins(r, phi, size[0], size[1], i%3)
			out, d, ds := r.result(size[0], 1, i%2), r.random(size[0], 1, i%2), r.result(size[0], size[1], i%2)
			r.do(r.s.LossValues(r.q, l, r.on(out)))
			r.step(&plan.MarginLoss{Margins: m, S: s, Out: out})
			r.do(r.s.LossGrad(r.q, l, r.on(d), r.on(ds), false))
			r.step(&plan.MarginLossGrad{Margins: m, S: s, D: d, Out: ds})
			r.check(smallest[T](), 4)
		}
	}
}

func TestSignedLoss(t *testing.T) {
	both(t, signedLoss[float32], signedLoss[float64])
}

func signedLoss[T plan.Float](t *testing.T) {
	for i, rows := range []int{1, 33, 1500} {
		for _, phi := range constraints.Phis() {
			r := newRig[T](t, uint64(i))
			m, s, l := signs(r, phi, rows, i)
			out, d, ds := r.result(rows, 1, i%2), r.random(rows, 1, i%2), r.result(rows, 1, i%2)
			r.do(r.s.LossValues(r.q, l, r.on(out)))
			r.step(&plan.SignedLoss{Signs: m, S: s, Out: out})
			r.do(r.s.LossGrad(r.q, l, r.on(d), r.on(ds), false))
			r.step(&plan.SignedLossGrad{Signs: m, S: s, D: d, Out: ds})
			r.check(smallest[T](), 4)
			r.do(r.s.LossGrad(r.q, l, r.on(d), r.on(ds), true))
			r.step(&plan.SignedLossGrad{Signs: m, S: s, D: d, Out: ds, Add: true})
			r.check(1, 4)
		}
	}
}

func TestPhiOf(t *testing.T) {
	if _, err := kernels.PhiOf(constraints.Phi("ramp")); err == nil {
		t.Fatal("no error")
	}
}

// groupings lists memberships for group means: ranges of rows, with empty groups and rows in no
// group, and lists of rows.
func groupings[T plan.Float](r *rig[T], rows int) []describe.Groups {
	third := rows / 3
	ranges := describe.Groups{Rows: rows, Count: 4, Starts: []int{min(1, third), third, third, max(rows-2, third), max(rows-1, third)}}
	one := describe.Groups{Rows: rows, Count: 1, Starts: []int{0, rows}}
	lists := describe.Groups{Rows: rows, Count: 5, Starts: make([]int, 6), RowStarts: make([]int, rows+1)}
	for i := range rows {
		for k := range lists.Count {
			if k != 3 && r.rng.IntN(3) == 0 { // group 3 is empty
				lists.RowGroups = append(lists.RowGroups, int32(k))
				lists.Starts[k+1]++
			}
		}
		lists.RowStarts[i+1] = len(lists.RowGroups)
	}
	for k := range lists.Count {
		lists.Starts[k+1] += lists.Starts[k]
	}
	weighted := lists
	for range lists.RowGroups {
		weighted.RowWeights = append(weighted.RowWeights, r.rng.NormFloat64())
	}
	return []describe.Groups{ranges, one, lists, weighted}
}

var meansRows = []int{1, 2, 30, 700, 5000}

func TestGroupMeans(t *testing.T) {
	both(t, groupMeans[float32], groupMeans[float64])
}

func groupMeans[T plan.Float](t *testing.T) {
	for i, rows := range meansRows {
		r := newRig[T](t, uint64(i))
		in := r.random(rows, 1, i%2)
		for _, g := range groupings(r, rows) {
			offsets := make([]float64, g.Count)
			for k := range offsets {
				offsets[k] = r.rng.NormFloat64()
			}
			out := r.result(g.Count, 1, i%3)
			m := kernels.NewMeans(kernels.MeansStep{Groups: g, Offsets: offsets, Out: r.on(out)})
			r.do(r.s.GroupMeans(r.q, m, r.put(m.Table()), r.on(in)))
			r.step(&plan.GroupMeans{Groups: g, Offsets: offsets, In: in, Out: out})
			r.check(1+sumScale[T](rows), 1)
		}
	}
}

// The rows of a group are cut into parts of at most 256 rows. If all groups together would have
// more than 512 such parts, a part has up to 1,024 rows; a group has at most 128 parts.
func TestPartsOfMeans(t *testing.T) {
	for _, c := range []struct{ groups, rows, want int }{{4, 256, 1}, {4, 6000, 24}, {200, 600, 1}, {100, 2000, 2}, {1, 1 << 20, 128}} {
		g := describe.Groups{Rows: c.groups * c.rows, Count: c.groups}
		for k := range c.groups + 1 {
			g.Starts = append(g.Starts, k*c.rows)
		}
		s := require.Value(kernels.Load(&compiler{entries: map[string]kernels.Entry{}}, kernels.Float32))(t)
		q := &recorder{}
		m := kernels.NewMeans(kernels.MeansStep{Groups: g, Out: matrix(c.groups, 1)})
		require.NoError(t, s.GroupMeans(q, m, 0x8000, matrix(g.Rows, 1)))
		if got := q.launches[0].Grid[0]; got != c.want {
			t.Errorf("%d groups of %d rows have %d parts each, want %d", c.groups, c.rows, got, c.want)
		}
	}
}

// The contributions of windows of rows add up to the means over all rows.
func TestGroupMeansOfWindows(t *testing.T) {
	const rows = 50
	r := newRig[float64](t, 3)
	in := r.random(rows, 1, 1)
	for _, g := range groupings(r, rows) {
		offsets := make([]float64, g.Count)
		for k := range offsets {
			offsets[k] = r.rng.NormFloat64()
		}
		out, grad := r.result(g.Count, 1, 0), r.result(rows, 1, 0)
		w := r.random(g.Count, 1, 0)
		for lo := 0; lo < rows; lo += 20 {
			hi := min(lo+20, rows)
			slice, part := r.on(in), r.on(grad)
			slice.At, slice.Rows = slice.At.Offset(8*lo*slice.Stride), hi-lo
			part.At, part.Rows = part.At.Offset(8*lo*part.Stride), hi-lo
			m := kernels.NewMeans(kernels.MeansStep{Groups: g, Offsets: offsets, Out: r.on(out), From: lo, To: hi, Add: lo > 0})
			r.do(r.s.GroupMeans(r.q, m, r.put(m.Table()), slice))
			s := kernels.NewMeansGrad(kernels.MeansGradStep{Groups: g, W: r.on(w), From: lo, To: hi})
			r.do(r.s.GroupMeansGrad(r.q, s, r.put(s.Table()), part, false))
		}
		r.step(&plan.GroupMeans{Groups: g, Offsets: offsets, In: in, Out: out})
		r.step(&plan.GroupMeansGrad{Groups: g, W: w, Out: grad})
		r.check(1, 4)
	}
}

func TestGroupMeansGrad(t *testing.T) {
	both(t, groupMeansGrad[float32], groupMeansGrad[float64])
}

func groupMeansGrad[T plan.Float](t *testing.T) {
	for i, rows := range meansRows {
		r := newRig[T](t, uint64(i))
		out := r.result(rows, 1, i%2)
		for k, g := range groupings(r, rows) {
			w := r.random(g.Count, 1, 1)
			s := kernels.NewMeansGrad(kernels.MeansGradStep{Groups: g, W: r.on(w)})
			r.do(r.s.GroupMeansGrad(r.q, s, r.put(s.Table()), r.on(out), k > 0))
			r.step(&plan.GroupMeansGrad{Groups: g, W: w, Out: out, Add: k > 0})
		}
		r.check(4, 4)
	}
}

// finite overwrites scores with numbers that have finite losses, so that the means are finite.
func finite[T plan.Float](r *rig[T], s plan.View) {
	for i := range s.Rows {
		for j := range s.Cols {
			r.set(s, i, j, T(3*r.rng.NormFloat64()))
		}
	}
}

// A fused pass computes the same losses, group means and derivatives as the plan's separate steps.
func TestFusedLosses(t *testing.T) {
	both(t, fused[float32], fused[float64])
}

func fused[T plan.Float](t *testing.T) {
	for i, rows := range []int{1, 40, 2500} {
		for _, phi := range constraints.Phis() {
			r := newRig[T](t, uint64(i))
			margin, s, l := margins(r, phi, rows, 3, i%2)
			sign, z, k := signs(r, phi, rows, i%2)
			finite(r, s)
			finite(r, z)
			fusedLoss(r, l, func(out plan.View) plan.Step { return &plan.MarginLoss{Margins: margin, S: s, Out: out} },
				func(d, out plan.View) plan.Step { return &plan.MarginLossGrad{Margins: margin, S: s, D: d, Out: out} })
			fusedLoss(r, k, func(out plan.View) plan.Step { return &plan.SignedLoss{Signs: sign, S: z, Out: out} },
				func(d, out plan.View) plan.Step { return &plan.SignedLossGrad{Signs: sign, S: z, D: d, Out: out} })
		}
	}
}

func fusedLoss[T plan.Float](r *rig[T], l kernels.Loss, value func(out plan.View) plan.Step,
	grad func(d, out plan.View) plan.Step) {
	rows := l.Scores.Rows
	var means []kernels.MeansStep
	var grads []kernels.MeansGradStep
	var outs []plan.View
	// The host rounds the losses and the weights of the rows to T before it sums them.
	losses, d := r.result(rows, 1, 0), r.result(rows, 1, 0)
	r.step(value(losses))
	for k, g := range groupings(r, rows) {
		out, w := r.result(g.Count, 1, 0), r.random(g.Count, 1, 1)
		means = append(means, kernels.MeansStep{Groups: g, Out: r.on(out), Host: r.put(make([]byte, 8*g.Count))})
		grads = append(grads, kernels.MeansGradStep{Groups: g, W: r.on(w)})
		outs = append(outs, out)
		r.step(&plan.GroupMeans{Groups: g, Offsets: make([]float64, g.Count), In: losses, Out: out})
		r.step(&plan.GroupMeansGrad{Groups: g, W: w, Out: d, Add: k > 0})
	}
	ds := r.result(rows, l.Scores.Cols, 1)
	r.step(grad(d, ds))
	m, w := kernels.NewMeans(means...), kernels.NewMeansGrad(grads...)
	r.do(r.s.LossMeans(r.q, m, r.put(m.Table()), l))
	r.do(r.s.LossGradMeans(r.q, l, w, r.put(w.Table()), r.on(ds), false))
	for _, v := range []plan.View{losses, d} { // the device does not write these
		for j := range r.memory.Data[v.Buffer] {
			r.memory.Data[v.Buffer][j] = T(math.NaN())
		}
	}
	r.check(10+sumScale[T](4*rows), 4)
	for k, st := range means {
		for i, x := range r.numbers(st.Host, st.Groups.Count) {
			if on := r.contents(outs[k].Buffer)[i]; x != float64(on) {
				r.t.Errorf("mean %d of grouping %d is %v in the host's memory, %v on the device", i, k, x, on)
			}
		}
	}
}

// The losses of float32 plans and their derivatives have a relative error of at most 2^-24 before
// the rounding to float32, which adds 2^-24; logarithms have 2.2 2^-24.
func TestErrorsOfLosses(t *testing.T) {
	r := newRig[float32](t, 1)
	const rows = 20_000
	s, ones := plan.View{Rows: rows, Cols: 1, Stride: 1}, plan.View{Rows: rows, Cols: 1, Stride: 1}
	scores, labels, factor := make([]float32, rows), make([]int8, rows), make([]float32, rows)
	for i := range scores {
		scores[i], labels[i], factor[i] = float32(40*(2*r.rng.Float64()-1)), 1, 1
	}
	s.Buffer, ones.Buffer = r.buffer(scores), r.buffer(factor)
	out := r.result(rows, 1, 0)
	for _, c := range []struct {
		phi   kernels.Phi
		slope bool
		exact func(y float64) float64
		most  float64
	}{
		{kernels.PhiSigmoid, false, func(y float64) float64 { return 1 / (1 + math.Exp(y)) }, 2},
		{kernels.PhiSigmoid, true, func(y float64) float64 {
			e := math.Exp(-math.Abs(y))
			return -e / ((1 + e) * (1 + e))
		}, 2},
		{kernels.PhiLogistic, false, func(y float64) float64 { return max(-y, 0) + math.Log1p(math.Exp(-math.Abs(y))) }, 3.2},
		{kernels.PhiLogistic, true, func(y float64) float64 { return -1 / (1 + math.Exp(y)) }, 2},
	} {
		l := kernels.Loss{Kind: kernels.Signs, Phi: c.phi, Labels: r.put(bytesOf(labels)), Scores: r.on(s)}
		if c.slope {
			r.do(r.s.LossGrad(r.q, l, r.on(ones), r.on(out), false))
		} else {
			r.do(r.s.LossValues(r.q, l, r.on(out)))
		}
		worst := 0.0
		for i, got := range r.contents(out.Buffer) {
			want := c.exact(float64(scores[i]))
			worst = max(worst, math.Abs(float64(got)/want-1)*0x1p24)
		}
		t.Logf("%v, slope %v: error %.2f 2^-24", c.phi, c.slope, worst)
		if !(worst <= c.most) {
			t.Errorf("%v, slope %v: error %.2f 2^-24, want at most %v", c.phi, c.slope, worst, c.most)
		}
	}
}

func TestPairs(t *testing.T) {
	both(t, pairs[float32], pairs[float64])
}

// pairs compares the kernels with plan.Run: blocks of several tiles and runs, few and many cells,
// and infinite, equal and undefined scores.
func pairs[T plan.Float](t *testing.T) {
	long := graphcases.Ranking{Queries: []int{700, 3, 1300}, Levels: 2, Groups: 1, Objective: constraints.Sigmoid}
	scale := 64.0 // sums of many terms, of which some cancel
	if dtypeOf[T]() == kernels.Float32 {
		scale = 1e-3
	}
	for i, ranking := range append(graphcases.Rankings(), long) {
		r := newRig[T](t, uint64(i))
		op := mustOp(t, ranking)
		d := op.Describe().(describe.PairMeans)
		phi, err := kernels.PhiOf(d.Phi)
		r.do(err)
		p := kernels.NewPairs(d.Pairs)
		table := r.put(p.Table())
		s, w := r.random(d.Documents, 1, i%2), r.random(d.Cells(), 1, i%3)
		if i%5 == 4 {
			special(r, s)
		}
		out, ds := r.result(d.Cells(), 1, i%2), r.result(d.Documents, 1, i%3)
		r.do(r.s.PairMeans(r.q, p, table, phi, r.on(s), r.on(out)))
		r.step(&plan.PairMeans{Pairs: d.Pairs, Phi: d.Phi, S: s, Out: out})
		r.do(r.s.PairMeansGrad(r.q, p, table, phi, r.on(s), r.on(w), r.on(ds)))
		r.step(&plan.PairMeansGrad{Pairs: d.Pairs, Phi: d.Phi, S: s, W: w, Out: ds})
		r.check(scale, 32)
	}
}

func mustOp(t *testing.T, r graphcases.Ranking) *constraints.PairMeans {
	t.Helper()
	p := require.Value(constraints.NewPairs(r.Documents(), r.Groups, r.Each))(t)
	return require.Value(constraints.NewPairMeans(p, r.Objective))(t)
}
