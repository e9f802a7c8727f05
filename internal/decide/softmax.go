package decide

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"ppal/trainer/problem"
)

// Softmax gives probabilities of three or more classes from scores:
//
//	p_k(s) = e^(Slope s_k + Intercepts_k) / sum_j e^(Slope s_j + Intercepts_j),   Slope > 0.
//
// s are the scores of the saved model, one for each class, after the exact step. The decision stays
// the class with the largest score, so no decision changes. If intercepts differ, another class may
// have the largest probability. With two classes and the scores 0 and s, Softmax equals Platt.
type Softmax struct {
	Slope      float64
	Intercepts []float64 // one for each class, the first 0
}

// Probabilities writes the probabilities of one row's scores to dst. dst may be scores.
func (p Softmax) Probabilities(dst, scores []float64) {
	largest := math.Inf(-1)
	for k, s := range scores {
		dst[k] = p.Slope*s + p.Intercepts[k]
		largest = math.Max(largest, dst[k])
	}
	sum := 0.0
	for k := range dst {
		dst[k] = math.Exp(dst[k] - largest)
		sum += dst[k]
	}
	for k := range dst {
		dst[k] /= sum
	}
}

const (
	softmaxSteps     = 100   // largest number of Newton steps
	softmaxTolerance = 1e-10 // largest mean gradient over the rows at the solution
	softmaxHalvings  = 60    // largest number of halvings of a step
	// softmaxRounding is the rounding of the loss, relative to the loss.
	softmaxRounding = 0x1p-52
	// softmaxRidge is the relative addition to the diagonal of the Hessian, which makes the Newton
	// system regular.
	softmaxRidge = 1e-12
)

// FitSoftmax fits the probabilities of finite scores [rows, classes] to the rows' classes by
// maximum likelihood. The targets of a row of class y are
//
//	t_y = (n_y + 1)/(n_y + 2),   t_k = 1/((n_y + 2)(classes - 1)) for k != y,
//
// which keep the fit finite if the scores separate the classes; n_y is the number of rows of class
// y. Weights multiply the rows' terms of the likelihood, and n_y adds up the weights, which are
// scaled to the mean 1; nil: 1 each. For two classes these are Platt's targets. Sources: Guo,
// Pleiss, Sun and Weinberger, "On calibration of modern neural networks", 2017, for the common
// slope; Alexandari, Kundaje and Shrikumar, "Maximum likelihood with bias-corrected calibration is
// hard-to-beat at label shift adaptation", 2020, for the intercepts; Lin, Lin and Weng, "A note on
// Platt's probabilistic outputs for support vector machines", 2007, for the Newton iteration. The
// error wraps ErrNoProbabilities, or problem.ErrSettings if the lengths differ.
func FitSoftmax(scores []float64, labels []int, classes int, weights []float64) (Softmax, error) {
	if classes < 2 || len(scores) != len(labels)*classes {
		return Softmax{}, fmt.Errorf("decide: %w: %d scores for %d rows of %d classes", problem.ErrSettings, len(scores), len(labels), classes)
	}
	return fitSoftmax(rowsOfClasses{len(labels), classes, scaled(weights), func(i int) ([]float64, int) { return scores[i*classes:][:classes], labels[i] }})
}

// rowsOfClasses are rows with a score for each class.
type rowsOfClasses struct {
	rows, classes int
	weights       []float64                                 // nil: 1 each
	row           func(i int) (scores []float64, label int) // the scores are valid until the next call
}

// scaled returns the weights divided by their mean.
func scaled(weights []float64) []float64 {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	list := slices.Clone(weights)
	for i := range list {
		list[i] *= float64(len(list)) / sum
	}
	return list
}

// weight returns the weight of a row.
func (r *rowsOfClasses) weight(i int) float64 {
	if r.weights == nil {
		return 1
	}
	return r.weights[i]
}

// fitSoftmax is FitSoftmax for rows that need no memory.
func fitSoftmax(rows rowsOfClasses) (Softmax, error) {
	f := newSoftmaxFit(rows)
	if f.present < 2 {
		return Softmax{}, fmt.Errorf("%w: all rows have the same class", ErrNoProbabilities)
	}
	x := f.minimise(f.start())
	p := Softmax{Slope: x[0] / f.largest, Intercepts: append([]float64{0}, x[1:]...)}
	if !(p.Slope > 0) {
		return Softmax{}, fmt.Errorf("%w: the fitted slope is %v: the scores do not rank the rows of a class higher", ErrNoProbabilities, p.Slope)
	}
	return p, nil
}

// softmaxFit is the negative log-likelihood of the parameters x: the slope for the scores divided
// by the largest, then the intercepts of all classes but the first.
type softmaxFit struct {
	rowsOfClasses
	present int // classes with rows
	counts  []float64
	largest float64
	at      Softmax
	p       []float64 // probabilities of one row
}

func newSoftmaxFit(rows rowsOfClasses) *softmaxFit {
	classes := rows.classes
	f := &softmaxFit{rowsOfClasses: rows, counts: make([]float64, classes),
		at: Softmax{Intercepts: make([]float64, classes)}, p: make([]float64, classes)}
	for i := range rows.rows {
		scores, y := rows.row(i)
		f.counts[y] += f.weight(i)
		for _, s := range scores {
			f.largest = math.Max(f.largest, math.Abs(s))
		}
	}
	for _, n := range f.counts {
		if n > 0 {
			f.present++
		}
	}
	return f
}

// start returns the parameters of the classes' shares.
func (f *softmaxFit) start() []float64 {
	x := make([]float64, f.classes)
	for k := 1; k < f.classes; k++ {
		x[k] = math.Log((f.counts[k] + 1) / (f.counts[0] + 1))
	}
	return x
}

// minimise returns the parameters of the least loss, by Newton steps from x.
func (f *softmaxFit) minimise(x []float64) []float64 {
	value := f.loss(x)
	for range softmaxSteps {
		step, slope, ok := f.newton(x)
		if !ok {
			break
		}
		next, least := f.search(x, step, value, slope)
		if next == nil { // within rounding of the solution
			break
		}
		x, value = next, least
	}
	return x
}

// search halves the step from x, where the loss is value, until the loss falls by a share of what
// its slope promises. It returns the next parameters and their loss, or nil if no step does, or if
// the promised decrease is below the rounding of the loss.
func (f *softmaxFit) search(x, step []float64, value, slope float64) (next []float64, least float64) {
	next = make([]float64, len(x))
	t := 1.0
	for range softmaxHalvings {
		if -t*slope <= softmaxRounding*value {
			return nil, value
		}
		for k := range x {
			next[k] = x[k] + t*step[k]
		}
		if least = f.loss(next); least < value+1e-4*t*slope {
			return next, least
		}
		t /= 2
	}
	return nil, value
}

// set sets the parameters.
func (f *softmaxFit) set(x []float64) {
	f.at.Slope = x[0] / f.largest
	copy(f.at.Intercepts[1:], x[1:])
}

// targets returns the target of the class of a row of class y, and of each other class.
func (f *softmaxFit) targets(y int) (own, other float64) {
	n := f.counts[y]
	return (n + 1) / (n + 2), 1 / ((n + 2) * float64(f.classes-1))
}

// loss returns the negative log-likelihood.
func (f *softmaxFit) loss(x []float64) float64 {
	f.set(x)
	sum := 0.0
	for i := range f.rows {
		scores, y := f.row(i)
		own, other := f.targets(y)
		weight, largest := f.weight(i), math.Inf(-1)
		for k, s := range scores {
			f.p[k] = f.at.Slope*s + f.at.Intercepts[k]
			largest = math.Max(largest, f.p[k])
		}
		total := 0.0
		for k, z := range f.p {
			if z == largest {
				total++
			} else {
				total += math.Exp(z - largest)
			}
			t := other
			if k == y {
				t = own
			}
			sum -= weight * t * (z - largest)
		}
		sum += weight * math.Log(total)
	}
	return sum
}

// newton returns the Newton step and its directional derivative. ok is false at a solution.
func (f *softmaxFit) newton(x []float64) (step []float64, slope float64, ok bool) {
	f.set(x)
	n := f.classes
	g, h := make([]float64, n), mat.NewSymDense(n, nil)
	add := func(a, b int, v float64) { h.SetSym(a, b, h.At(a, b)+v) }
	for i := range f.rows {
		scores, y := f.row(i)
		f.at.Probabilities(f.p, scores)
		own, other := f.targets(y)
		weight, mean, square := f.weight(i), 0.0, 0.0
		for k, s := range scores {
			s /= f.largest
			mean, square = mean+f.p[k]*s, square+f.p[k]*s*s
		}
		add(0, 0, weight*(square-mean*mean))
		for k, s := range scores {
			d := f.p[k] - other
			if k == y {
				d = f.p[k] - own
			}
			d *= weight
			g[0] += d * s / f.largest
			if k == 0 {
				continue
			}
			g[k] += d
			add(0, k, weight*f.p[k]*(s/f.largest-mean))
			add(k, k, weight*f.p[k])
			for j := 1; j <= k; j++ {
				add(j, k, -weight*f.p[j]*f.p[k])
			}
		}
	}
	largest, trace := 0.0, 0.0
	for k := range n {
		largest, trace = math.Max(largest, math.Abs(g[k])), trace+h.At(k, k)
	}
	if largest < softmaxTolerance*float64(f.rows) {
		return nil, 0, false
	}
	for k := range n {
		add(k, k, softmaxRidge*trace)
	}
	var c mat.Cholesky
	var d mat.VecDense
	if !c.Factorize(h) || c.SolveVecTo(&d, mat.NewVecDense(n, g)) != nil {
		return nil, 0, false
	}
	step = make([]float64, n)
	for k := range n {
		step[k] = -d.AtVec(k)
		slope += step[k] * g[k]
	}
	return step, slope, true
}
