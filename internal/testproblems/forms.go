package testproblems

import "math"

// NumConstraints returns the number m of constraints: M, or the number of
// maxima if Pieces is set.
func (p *Problem) NumConstraints() int {
	if p.Pieces == nil {
		return p.M
	}
	return p.Pieces[len(p.Pieces)-1].Constraint + 1
}

// Constraints sets dst, of length [Problem.NumConstraints], to the
// constraints' values from terms, the result of G at the same point: a copy
// for smooth problems, the maxima over the pieces otherwise.
func (p *Problem) Constraints(dst, terms []float64) {
	if p.Pieces == nil {
		copy(dst, terms)
		return
	}
	for j := range dst {
		dst[j] = math.Inf(-1)
	}
	for _, c := range p.Pieces {
		dst[c.Constraint] = max(dst[c.Constraint], c.Sign*terms[c.Term]+c.Offset)
	}
}

// Absolute reports whether constraint j is |h_j(x)| - eps_j for every j, and
// if so returns eps.
func (p *Problem) Absolute() (eps []float64, ok bool) {
	if p.Pieces == nil || len(p.Pieces) != 2*p.M {
		return nil, false
	}
	for j := range p.M {
		plus, minus := p.Pieces[2*j], p.Pieces[2*j+1]
		if plus != (Piece{j, j, 1, plus.Offset}) || minus != (Piece{j, j, -1, plus.Offset}) {
			return nil, false
		}
		eps = append(eps, -plus.Offset)
	}
	return eps, true
}

// Split returns the smooth form of a kink problem, in which every piece is a
// constraint of its own and has its own multiplier. Constant pieces, which no
// x can violate, are left out. A smooth problem is returned unchanged.
func (p Problem) Split() Problem {
	if p.Pieces == nil {
		return p
	}
	var pieces []Piece
	var multipliers []float64
	for k, c := range p.Pieces {
		if c.Sign != 0 {
			pieces = append(pieces, c)
			multipliers = append(multipliers, p.Multipliers[k])
		}
	}
	terms := make([]float64, p.M)
	weights := make([]float64, p.M)
	g, jtw := p.G, p.JTW

	s := p
	s.Kind = Smooth
	s.Pieces = nil
	s.M = len(pieces)
	s.Multipliers = multipliers
	s.G = func(dst, x []float64) {
		g(terms, x)
		for k, c := range pieces {
			dst[k] = c.Sign*terms[c.Term] + c.Offset
		}
	}
	s.JTW = func(dst, x, w []float64) {
		clear(weights)
		for k, c := range pieces {
			weights[c.Term] += c.Sign * w[k]
		}
		jtw(dst, x, weights)
	}
	return s
}

// Scaled returns the same problem with f multiplied by objective and every
// constraint by constraint, both positive. It has the same KKT points, and the
// multipliers are multiplied by objective/constraint. This can bring the
// multipliers of a badly scaled problem near 1.
func (p Problem) Scaled(objective, constraint float64) Problem {
	f, grad, g, jtw := p.F, p.Grad, p.G, p.JTW

	s := p
	s.Value = objective * p.Value
	s.F = func(x []float64) float64 { return objective * f(x) }
	s.Grad = func(dst, x []float64) {
		grad(dst, x)
		scale(dst, objective)
	}
	s.G = func(dst, x []float64) {
		g(dst, x)
		scale(dst, constraint)
	}
	s.JTW = func(dst, x, w []float64) {
		jtw(dst, x, w)
		scale(dst, constraint)
	}
	s.Multipliers = append([]float64(nil), p.Multipliers...)
	scale(s.Multipliers, objective/constraint)
	s.Pieces = append([]Piece(nil), p.Pieces...)
	for k := range s.Pieces {
		s.Pieces[k].Offset *= constraint
	}
	return s
}

func scale(v []float64, by float64) {
	for i := range v {
		v[i] *= by
	}
}

// bound is one finite bound of a box written as sign*(x[i] - value) <= 0.
type bound struct {
	i           int
	sign, value float64
}

// bounds lists the finite bounds of p's box, each coordinate's lower bound
// first.
func (p *Problem) bounds() []bound {
	var list []bound
	for i := range p.Lower {
		if !math.IsInf(p.Lower[i], 0) {
			list = append(list, bound{i, -1, p.Lower[i]})
		}
		if !math.IsInf(p.Upper[i], 0) {
			list = append(list, bound{i, 1, p.Upper[i]})
		}
	}
	return list
}

// BoundsAsConstraints returns a smooth problem (split a kink problem first:
// it panics otherwise) whose box is replaced by constraints. They follow the
// problem's own constraints and have multipliers. A problem without a box is
// returned unchanged.
func (p Problem) BoundsAsConstraints() Problem {
	if p.Pieces != nil {
		panic("testproblems: BoundsAsConstraints of a kink problem: call Split first")
	}
	bounds := p.bounds()
	if len(bounds) == 0 {
		p.Lower, p.Upper = nil, nil
		return p
	}
	m, g, jtw := p.M, p.G, p.JTW

	s := p
	s.Lower, s.Upper = nil, nil
	s.M = m + len(bounds)
	s.Multipliers = append(append([]float64(nil), p.Multipliers...), p.boundMultipliers(bounds)...)
	s.G = func(dst, x []float64) {
		g(dst[:m], x)
		for k, b := range bounds {
			dst[m+k] = b.sign * (x[b.i] - b.value)
		}
	}
	s.JTW = func(dst, x, w []float64) {
		jtw(dst, x, w[:m])
		for k, b := range bounds {
			dst[b.i] += b.sign * w[m+k]
		}
	}
	return s
}

// boundMultipliers returns the multipliers of the bounds at the optimum:
// stationarity gives -sign*(grad f + J^T nu)_i for an active bound of x_i.
func (p *Problem) boundMultipliers(bounds []bound) []float64 {
	v := p.lagrangianGradient(p.Optimum, p.Multipliers)
	nu := make([]float64, len(bounds))
	for k, b := range bounds {
		if p.Optimum[b.i] == b.value {
			nu[k] = max(0, -b.sign*v[b.i])
		}
	}
	return nu
}

// lagrangianGradient returns grad f(x) + J(x)^T nu.
func (p *Problem) lagrangianGradient(x, nu []float64) []float64 {
	v := make([]float64, p.N)
	jv := make([]float64, p.N)
	p.Grad(v, x)
	p.JTW(jv, x, nu)
	for i := range v {
		v[i] += jv[i]
	}
	return v
}
