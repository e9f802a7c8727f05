package constraints

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// randomDocuments draws n documents of the given numbers of queries, levels and groups.
func randomDocuments(rng *rand.Rand, n, queries, levels, groups int) Documents {
	var d Documents
	for range n {
		d.Queries = append(d.Queries, int32(rng.IntN(queries)))
		d.Levels = append(d.Levels, rng.IntN(levels))
		d.Groups = append(d.Groups, rng.IntN(groups))
	}
	return d
}

// TestPairsByHand checks the blocks, the numbers of pairs and the cells.
func TestPairsByHand(t *testing.T) {
	// Query 2 has the rows 0, 2, 5, 6, query 0 the rows 1, 3, 4, query 1 none; row 7 has no query.
	d := Documents{Queries: []int32{2, 0, 2, 0, 0, 2, 2, -1}, Levels: []int{1, 0, 0, 0, 0, 0, 2, 5}, Groups: []int{1, 0, 0, 1, 0, 1, 0, 1}}
	for _, test := range []struct {
		each   bool
		counts []int64
	}{
		// Row 6 (group 0) is above row 2 (0) and rows 0, 5 (1), and row 0 (1) above rows 2, 5.
		{false, []int64{1, 2, 1, 1}},
		{true, []int64{0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1, 1}},
	} {
		p := must(NewPairs(d, 2, test.each))
		if got := p.Counts(); !slices.Equal(got, test.counts) || p.Cells() != len(test.counts) || p.Rows() != 8 {
			t.Errorf("each=%v: %d pairs by cell, want %d; %d rows", test.each, got, test.counts, p.Rows())
		}
		if want := []int32{2, 5, 0, 6}; !slices.Equal(p.p.Order, want) {
			t.Errorf("order %d, want %d", p.p.Order, want)
		}
	}
	all := must(NewPairs(Documents{Queries: d.Queries, Levels: d.Levels}, 1, false))
	if got := all.Counts(); !slices.Equal(got, []int64{5}) {
		t.Errorf("without groups: %d pairs", got)
	}
}

// TestPairsErrors checks the documents that NewPairs refuses.
func TestPairsErrors(t *testing.T) {
	two := []int32{0, 0}
	for _, test := range []struct {
		d      Documents
		groups int
		want   string
	}{
		{Documents{}, 1, "no rows"},
		{Documents{Queries: two, Levels: []int{0, 1}}, 0, "0 groups of documents, want 1 to 65536"},
		{Documents{Queries: two, Levels: []int{0, 1}}, 1 << 17, "131072 groups"},
		{Documents{Queries: two, Levels: []int{0}}, 1, "2 queries, 1 levels"},
		{Documents{Queries: two, Levels: []int{0, 1}, Groups: []int{0}}, 1, "1 groups of documents, want equal numbers"},
		{Documents{Queries: two, Levels: []int{0, -1}}, 1, "document 1 has relevance -1, want 0 to 255"},
		{Documents{Queries: two, Levels: []int{256, 0}}, 1, "document 0 has relevance 256"},
		{Documents{Queries: two, Levels: []int{1, 0}, Groups: []int{0, 2}}, 2, "document 1 is in group 2, want 0 to 1"},
		{Documents{Queries: []int32{0, math.MaxInt32}, Levels: []int{1, 0}}, 1, "document 1 has query 2147483647"},
		{Documents{Queries: two, Levels: []int{1, 1}}, 1, "no pairs"},
		{Documents{Queries: []int32{0, 1}, Levels: []int{1, 0}}, 1, "no pairs"},
	} {
		if _, err := NewPairs(test.d, test.groups, false); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.d, err, test.want)
		} else if errors.Is(err, ErrNoPairs) != (test.want == "no pairs") {
			t.Errorf("%+v: %v is ErrNoPairs: wrong", test.d, err)
		}
	}
	if _, err := NewPairMeans(nil, "tanh"); err == nil || !strings.Contains(err.Error(), "unknown surrogate") {
		t.Error(err)
	}
}

// TestPairMeansByHand checks the means and the derivative of the hinge and of the sigmoid.
func TestPairMeansByHand(t *testing.T) {
	d := Documents{Queries: []int32{0, 0, 0}, Levels: []int{1, 0, 0}, Groups: []int{1, 0, 1}}
	s := []float64{0.5, 0.5, -2} // differences 0 (equal scores) and 2.5
	p := must(NewPairs(d, 2, false))
	for _, test := range []struct {
		phi         Phi
		means, grad []float64
	}{
		{Hinge, []float64{0, 0, 1, 0}, []float64{-3, 3, 0}},
		{Sigmoid, []float64{0, 0, 0.5, Sigmoid.Value(2.5)}, []float64{-0.75 + 5*Sigmoid.Deriv(2.5), 0.75, -5 * Sigmoid.Deriv(2.5)}},
	} {
		op := must(NewPairMeans(p, test.phi))
		for _, dt := range dtypes {
			means := must(op.Do(dense(dt, s, 3, 1)))
			grad := must(op.derivative().Do(dense(dt, s, 3, 1), dense(dt, []float64{7, 7, 3, 5}, 4)))
			if d := cmp.Diff([][]float64{test.means, test.grad}, [][]float64{widened(t, means), widened(t, grad)}, cmpopts.EquateApprox(1e-7, 0)); d != "" {
				t.Errorf("%v (-want +got)\n%s", op, d)
			}
			if !means.Shape().Eq(tensor.Shape{4}) || !grad.Shape().Eq(tensor.Shape{3, 1}) || means.Dtype() != dt || grad.Dtype() != dt {
				t.Errorf("%v: shapes %v and %v", op, means.Shape(), grad.Shape())
			}
		}
	}
}

// TestPairMeansGradientEqualsDifferences compares Gorgonia's gradient of the means, weighted, with
// central differences, for scores [n] and [n, 1].
func TestPairMeansGradientEqualsDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, each := range []bool{false, true} {
		for k, phi := range Phis() {
			p := must(NewPairs(randomDocuments(rng, 40, 5, 2+k, 1+k), 1+k, each))
			op := must(NewPairMeans(p, phi))
			w := randoms(rng, p.Cells(), 1)
			shape := []int{40, 1}[:1+k%2]
			g := gorgonia.NewGraph()
			sn := gorgonia.NewTensor(g, tensor.Float64, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName("s"))
			wn := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(p.Cells()), gorgonia.WithName("w"))
			mn := must(op.Apply(sn))
			gn := must(gorgonia.Backpropagate(gorgonia.Nodes{mn}, gorgonia.Nodes{wn}, gorgonia.Nodes{sn}))
			s := randoms(rng, 40, 1)
			let(t, sn, dense(tensor.Float64, s, shape...))
			let(t, wn, dense(tensor.Float64, w, p.Cells()))
			runVM(t, compiled(t, gorgonia.Nodes{sn, wn}, gn))
			got, want := widened(t, gn[0].Value()), make([]float64, len(s))
			value := func(i int, step float64) float64 {
				moved := slices.Clone(s)
				moved[i] += step
				return weighted(w, pairMeans(op, moved))
			}
			for i := range want {
				const h = 1e-6
				want[i] = (value(i, h) - value(i, -h)) / (2 * h)
			}
			if d := distance(got, want); !(d <= 1e-6) {
				t.Errorf("%v, each=%v: the gradient is off by %.2g", op, each, d)
			}
		}
	}
}

// TestPairMeansOfPermutedDocuments checks that the order of the documents, and the numbers of the
// queries, change nothing but rounding.
func TestPairMeansOfPermutedDocuments(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	d, s := randomDocuments(rng, 300, 12, 3, 2), randoms(rng, 300, 2)
	w := randoms(rng, 4, 1)
	places := rng.Perm(300)
	var permuted Documents
	scores := make([]float64, 300)
	for i, from := range places {
		permuted.Queries = append(permuted.Queries, 11-d.Queries[from])
		permuted.Levels = append(permuted.Levels, d.Levels[from])
		permuted.Groups = append(permuted.Groups, d.Groups[from])
		scores[i] = s[from]
	}
	for _, phi := range Phis() {
		one, other := must(NewPairMeans(must(NewPairs(d, 2, false)), phi)), must(NewPairMeans(must(NewPairs(permuted, 2, false)), phi))
		if !slices.Equal(one.pairs.Counts(), other.pairs.Counts()) {
			t.Fatalf("%d pairs, and %d after the permutation", one.pairs.Counts(), other.pairs.Counts())
		}
		if d := distance(pairMeans(one, s), pairMeans(other, scores)); !(d <= 1e-14) {
			t.Errorf("%v: the means differ by %.2g", phi, d)
		}
		before, after := pairMeansGrad(one, s, w), pairMeansGrad(other, scores, w)
		for i, from := range places {
			if math.Abs(after[i]-before[from]) > 1e-14 {
				t.Errorf("%v: the derivative of row %d is %v, and %v after the permutation", phi, from, before[from], after[i])
			}
		}
	}
}

// TestPairMeansExtremes checks scores far apart, equal infinities, and NaN.
func TestPairMeansExtremes(t *testing.T) {
	inf := math.Inf(1)
	p := must(NewPairs(Documents{Queries: []int32{0, 0}, Levels: []int{1, 0}}, 1, false))
	for _, test := range []struct {
		higher, lower  float64
		value, inverse float64 // of the sigmoid for the scores, and for the exchanged scores
	}{
		{1e6, -1e6, 0, 1}, {inf, -inf, 0, 1}, {inf, inf, 0.5, 0.5}, {-inf, -inf, 0.5, 0.5}, {3, 3, 0.5, 0.5},
	} {
		op := must(NewPairMeans(p, Sigmoid))
		got := append(pairMeans(op, []float64{test.higher, test.lower}), pairMeans(op, []float64{test.lower, test.higher})...)
		if d := cmp.Diff([]float64{test.value, test.inverse}, got); d != "" {
			t.Errorf("scores %v and %v (-want +got)\n%s", test.higher, test.lower, d)
		}
		if d := pairMeansGrad(op, []float64{test.higher, test.lower}, []float64{1}); math.IsNaN(d[0]) || math.IsNaN(d[1]) {
			t.Errorf("scores %v and %v: the derivative is %v", test.higher, test.lower, d)
		}
	}
	for _, phi := range Phis() {
		op := must(NewPairMeans(p, phi))
		if v := pairMeans(op, []float64{math.NaN(), 0}); !math.IsNaN(v[0]) {
			t.Errorf("%v of NaN is %v", phi, v)
		}
	}
}

// TestPairMeansOnHost compares the fast means with the loops of PairMeans, for scores close
// together and far apart, and for long queries, many queries and queries with own cells.
func TestPairMeansOnHost(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, c := range []struct{ documents, queries int }{{300, 9}, {2500, 1}, {3000, 100}} {
		for _, each := range []bool{false, true} {
			p := must(NewPairs(randomDocuments(rng, c.documents, c.queries, 2, 2), 2, each))
			for _, scale := range []float64{0, 2, 60, 1e5} {
				scores := randoms(rng, p.Rows(), scale)
				for _, phi := range []Phi{Sigmoid, Logistic} {
					want := pairMeans(must(NewPairMeans(p, phi)), scores)
					// the loops round a million times
					if d := cmp.Diff(want, p.means(phi, scores), cmpopts.EquateApprox(2e-11, 1e-12)); d != "" {
						t.Errorf("%v, each=%v, scale %v, %v (-loops +means)\n%s", c, each, scale, phi, d)
					}
				}
			}
		}
	}
	p := must(NewPairs(Documents{Queries: []int32{0, 0, 0, 0}, Levels: []int{1, 0, 1, 0}}, 1, false))
	inf := math.Inf(1)
	if got := p.means(Sigmoid, []float64{inf, inf, -inf, 0}); math.Abs(got[0]-2.5/4) > 1e-15 {
		t.Errorf("infinite scores: %v", got)
	}
}
