package session

import (
	"ppal/trainer/certify"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// exact is the task in float64, computed one block of rows at a time. A forward pass computes the
// scores S(x) block by block, then f and g of all scores. A backward pass computes D = d(w_0 f +
// w.g)/dS for all scores, then sums the blocks' gradients of <D, S(x)>. The terms of the
// parameters follow the terms of the scores. Certificates use exact, because exact needs little
// memory; exact is slow.
type exact struct {
	*problem.HostSpace[float64]
	b         *builder
	blocks    *blocks
	head      *graph.Problem // f and g of the scores
	direction problem.Vector // gradient D of head
	scores    []float64      // of the last forward pass
	hosts     [][]float64    // D of each gradient of a pass
}

var (
	_ problem.Problem = (*exact)(nil)
	_ problem.Several = (*exact)(nil)
)

// newExact returns the problem at the iterate x, the stacked weights as trained. The problem keeps
// the slice x as its iterate.
func newExact(b *builder, s *split, x []float64) (*exact, error) {
	e := &exact{HostSpace: problem.NewHostSpace(x, b.regularizer), b: b}
	var err error
	if e.blocks, err = b.exactBlocks(s, x); err != nil {
		return nil, err
	}
	if e.head = s.head; e.head == nil {
		if e.head, err = b.head(s.rows); err != nil {
			return nil, err
		}
	}
	e.direction = e.head.Space().New()
	return e, nil
}

// certifyBetter certifies the iterate of p with the multiplier of the training loop's certificate
// and, if that certificate replaced the method's own multiplier, with the method's own, and returns
// the better certificate. certifyBetter does not search for a multiplier again, because the passes
// of p are slow.
func certifyBetter(p problem.Problem, at *problem.Point, trained certify.Certificate, s certify.Settings) (c certify.Certificate, err error) {
	if trained.Own == nil {
		c, err = certify.Measure(p, at, trained.Nu, s)
	} else {
		c, err = certify.Better(p, at, trained.Own.Nu, trained.Nu, s)
	}
	c.NotResolved = trained.NotResolved
	return c, err
}

// Dims implements problem.Problem.
func (e *exact) Dims() (n, m int) {
	_, m = e.head.Dims()
	return len(e.Slice(problem.Iterate)), m + e.b.terms.len()
}

// NonSmooth implements problem.NonSmooth. The kinks are those of f and g of the scores, of the
// network, or of the terms of the parameters.
func (e *exact) NonSmooth() bool {
	network, terms := e.blocks.block, e.b.terms
	return e.head.NonSmooth() || network != nil && network.NonSmooth() || terms != nil && terms.problem.NonSmooth()
}

// Forward implements problem.Problem.
func (e *exact) Forward(g []float64) (f float64, err error) {
	if e.scores, err = e.blocks.appendScores(e.scores[:0], e.Slice(problem.Iterate)); err != nil {
		return 0, err
	}
	own, err := e.b.terms.at(e.Slice(problem.Iterate))
	if err != nil {
		return 0, err
	}
	copy(g[len(g)-len(own):], own)
	e.head.Space().Write(problem.Iterate, e.scores)
	return e.head.Forward(g[:len(g)-len(own)])
}

// Backward implements problem.Problem.
func (e *exact) Backward(coefficients []float64, d problem.Vector) error {
	return e.BackwardSeveral([][]float64{coefficients}, []problem.Vector{d})
}

// BackwardSeveral implements problem.Several. Most of the time of a pass is the conversion of the
// rows to float64.
func (e *exact) BackwardSeveral(coefficients [][]float64, d []problem.Vector) error {
	sums := make([][]float64, len(d))
	for i, c := range coefficients {
		if err := e.head.Backward(c[:len(c)-e.b.terms.len()], e.direction); err != nil {
			return err
		}
		if i == len(e.hosts) {
			n, _ := e.head.Dims()
			e.hosts = append(e.hosts, make([]float64, n))
		}
		e.head.Space().Read(e.hosts[i], e.direction)
		sums[i] = e.Slice(d[i])
	}
	if err := e.blocks.pullBack(sums, e.Slice(problem.Iterate), e.hosts[:len(d)]); err != nil {
		return err
	}
	for i, c := range coefficients {
		if err := e.b.terms.addGradient(sums[i], c[len(c)-e.b.terms.len():]); err != nil {
			return err
		}
	}
	return nil
}
