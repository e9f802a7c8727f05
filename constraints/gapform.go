package constraints

import "fmt"

// Piece is one smooth piece of a constraint that is the maximum of its pieces: g_j = max over the
// pieces p of j of Sign*h_Term + Offset. Piece has the fields of problem.Piece and converts to it:
// problem.Piece(p).
type Piece struct {
	Constraint, Term int
	Sign, Offset     float64
}

// GapForm says how the bounds |h_t| <= eps_t on gaps become constraints.
type GapForm uint8

// The forms of the gaps' constraints.
const (
	// Absolute makes the constraints g_t = |h_t| - eps_t. The nodes are the smooth terms h, and
	// Pieces describes the constraints as maxima (problem.MakePiecewise).
	Absolute GapForm = iota
	// Split makes two smooth constraints for each gap, h_t - eps_t and then -h_t - eps_t, as nodes:
	// twice as many constraints and multipliers.
	Split
	// Maximum makes one constraint max_t |h_t| - eps_t, for methods that support a single
	// constraint. The nodes are the terms, as with Absolute.
	Maximum
)

// GapForms lists the forms, the default first.
func GapForms() []GapForm { return []GapForm{Absolute, Split, Maximum} }

// String returns the form's name in lower case.
func (f GapForm) String() string {
	switch f {
	case Absolute:
		return "absolute"
	case Split:
		return "split"
	case Maximum:
		return "max"
	}
	return fmt.Sprintf("GapForm(%d)", uint8(f))
}

func (f GapForm) valid() error {
	if f > Maximum {
		return fmt.Errorf("constraints: unknown form %v of a gap", f)
	}
	return nil
}

// pieces returns the pieces of |h_t| - eps[t], or nil for Split, which makes each piece a
// constraint.
func (f GapForm) pieces(eps []float64) []Piece {
	if f == Split {
		return nil
	}
	var list []Piece
	for t, e := range eps {
		constraint := t
		if f == Maximum {
			constraint = 0
		}
		list = append(list, Piece{constraint, t, 1, -e}, Piece{constraint, t, -1, -e})
	}
	return list
}

// values returns the constraints g at the gaps h.
func (f GapForm) values(h, eps []float64) []float64 {
	var g []float64
	for t, v := range h {
		up, down := v-eps[t], -v-eps[t]
		switch {
		case f == Split:
			g = append(g, up, down)
		case f == Maximum && t > 0:
			g[0] = max(g[0], up, down)
		default:
			g = append(g, max(up, down))
		}
	}
	return g
}

// names returns the constraints' names for the given names of the gaps.
func (f GapForm) names(gaps []string) []string {
	switch f {
	case Split:
		var list []string
		for _, name := range gaps {
			list = append(list, name+" +", name+" -")
		}
		return list
	case Maximum:
		return []string{"largest gap"}
	}
	return append([]string(nil), gaps...)
}

// bounds returns the constraints' bounds. With Maximum the bound is the largest eps; each piece
// subtracts its own eps.
func (f GapForm) bounds(eps []float64) []float64 {
	var list []float64
	for t, e := range eps {
		switch {
		case f == Split:
			list = append(list, e, e)
		case f == Maximum && t > 0:
			list[0] = max(list[0], e)
		default:
			list = append(list, e)
		}
	}
	return list
}
