package decisions

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Contender is a method of another library, with the grid of the method's settings.
type Contender struct {
	Name   string // name in tables
	Worker string // the Python process that serves the contender
	Call   string // name of the method in the worker
	// Deterministic is false for a classifier that draws its decisions. NeedsGroup is true for a
	// classifier that reads the group of a row to decide the row.
	Deterministic, NeedsGroup bool
	// grid returns the axes of the search for a problem; nil: the contender does not support the
	// problem.
	grid func(p Problem) []Axis
	// scored is true if the contender also solves problems with given scores.
	scored bool
	// wider is the axis on which the next value above the best value runs too, because the measured
	// gap lies between the gaps of the two values; "": no such axis.
	wider string
}

// Axis is one setting with the values that a search tries.
type Axis struct {
	Name   string
	Values []any
	// Ordered is true if the best value should lie inside the grid.
	Ordered bool
}

// Setting is one point of a grid.
type Setting map[string]any

// Key identifies a setting: JSON with sorted names.
func (s Setting) Key() string {
	text, err := json.Marshal(s)
	if err != nil { // a setting holds only numbers and texts
		panic(err)
	}
	return string(text)
}

// Text describes the setting's values on the axes that have several values.
func (s Setting) Text(axes []Axis) string {
	var parts []string
	for _, a := range axes {
		if len(a.Values) < 2 {
			continue
		}
		value := fmt.Sprint(s[a.Name])
		if x, ok := s[a.Name].(float64); ok {
			value = strconv.FormatFloat(x, 'g', 4, 64)
		}
		if s[a.Name] == nil {
			value = "none"
		}
		parts = append(parts, strings.ReplaceAll(a.Name, "_", " ")+" "+value)
	}
	return strings.Join(parts, ", ")
}

// Grid returns all settings of the search; nil if the contender does not support the problem.
func (c Contender) Grid(p Problem) []Setting {
	axes := c.grid(p)
	if axes == nil || p.Scores && !c.scored {
		return nil
	}
	list := []Setting{{}}
	for _, a := range axes {
		var next []Setting
		for _, s := range list {
			for _, v := range a.Values {
				with := Setting{a.Name: v}
				for k, x := range s {
					with[k] = x
				}
				next = append(next, with)
			}
		}
		list = next
	}
	return list
}

// atEdge returns the ordered axes on which a setting is at an end of the grid.
func (c Contender) atEdge(p Problem, s Setting) []string {
	var names []string
	for _, a := range c.grid(p) {
		if i := slices.Index(a.Values, s[a.Name]); a.Ordered && (i == 0 || i == len(a.Values)-1) {
			names = append(names, a.Name)
		}
	}
	return names
}

// final returns the settings that run on every split: the best setting, and the setting with the
// next larger value on the axis wider.
func (c Contender) final(p Problem, best Setting) []Setting {
	list := []Setting{best}
	for _, a := range c.grid(p) {
		if i := slices.Index(a.Values, best[a.Name]); a.Name == c.wider && i >= 0 && i+1 < len(a.Values) {
			next := Setting{}
			for k, v := range best {
				next[k] = v
			}
			next[a.Name] = a.Values[i+1]
			list = append(list, next)
		}
	}
	return list
}

// numbers returns the values of an ordered axis.
func numbers(name string, values ...float64) Axis {
	a := Axis{Name: name, Ordered: true}
	for _, v := range values {
		a.Values = append(a.Values, v)
	}
	return a
}

// fixed returns an axis of one value.
func fixed(name string, value any) Axis { return Axis{Name: name, Values: []any{value}} }

// choice returns an axis without an order.
func choice(name string, values ...any) Axis { return Axis{Name: name, Values: values} }

// gapsOnly returns the axes of f for the problems that bound gaps.
func gapsOnly(f func(p Problem) []Axis) func(p Problem) []Axis {
	return func(p Problem) []Axis {
		if p.Kind == neymanPearson {
			return nil
		}
		return f(p)
	}
}

// exponentiatedGradient is the name of the contender with which ppal's time is compared.
const exponentiatedGradient = "ExponentiatedGradient"

// contenders returns the methods of the other libraries. fairlearn gets the solver of fairlearn's
// own examples, which is the fastest solver of scikit-learn here.
//
// On COMPAS, the smallest table, the grids have more axes. There the eps of ExponentiatedGradient
// changes the training error by less than 0.05 points. The sigmoid is a better objective than the
// logistic loss for Cooper, and a better objective than the hinge for the proxy-Lagrangian. The
// larger tables therefore search only the remaining axes. On COMPAS and on Bank, GridSearch meets
// no bound on equalized odds with 85 models. The larger tables therefore use 41 models there.
func contenders() []Contender {
	small := func(p Problem) bool { return p.Data.Name == "compas" }
	learner := choice("solver", "liblinear")
	return []Contender{
		{Name: exponentiatedGradient, Worker: "fairlearn", Call: "exponentiated-gradient", wider: "difference_bound",
			grid: gapsOnly(func(p Problem) []Axis {
				eps := fixed("eps", 0.01)
				if small(p) {
					eps = numbers("eps", 0.0025, 0.01, 0.04)
				}
				return []Axis{learner, numbers("difference_bound", p.Bound/4, p.Bound/2, p.Bound, 2*p.Bound), eps, fixed("max_iter", 50)}
			})},
		{Name: "GridSearch", Worker: "fairlearn", Call: "grid-search", Deterministic: true,
			grid: gapsOnly(func(p Problem) []Axis {
				switch {
				case p.Kind == demographicParity:
					return []Axis{learner, fixed("grid_size", 41), numbers("grid_limit", 0.5, 1, 2, 4)}
				case small(p): // a grid in two dimensions
					return []Axis{learner, fixed("grid_size", 85), numbers("grid_limit", 0.05, 0.15, 0.5)}
				default:
					return []Axis{learner, fixed("grid_size", 41), fixed("grid_limit", 0.15)}
				}
			})},
		{Name: "ThresholdOptimizer", Worker: "fairlearn", Call: "threshold-optimizer", NeedsGroup: true, scored: true,
			grid: gapsOnly(func(p Problem) []Axis {
				axes := []Axis{learner, fixed("grid_size", 1000)}
				if p.Scores {
					axes[0] = fixed("scores", true)
				}
				if p.Kind == demographicParity { // equalized odds has no tolerance
					axes = append(axes, numbers("tol", p.Bound/2, p.Bound, 2*p.Bound))
				}
				return axes
			})},
		{Name: "proxy-Lagrangian", Worker: "proxy-lagrangian", Call: "proxy-lagrangian",
			grid: func(p Problem) []Axis {
				surrogate := fixed("surrogate", "sigmoid")
				if small(p) {
					surrogate = choice("surrogate", "hinge", "sigmoid")
				}
				return []Axis{surrogate, numbers("rate", 0.001, 0.003, 0.01, 0.03, 0.1), fixed("epochs", 40)}
			}},
		{Name: "Cooper", Worker: "cooper-proxy", Call: "cooper", Deterministic: true,
			grid: func(p Problem) []Axis {
				objective := fixed("objective", "sigmoid")
				if small(p) {
					objective = choice("objective", "logistic", "sigmoid")
				}
				rate, dual := numbers("rate", 0.03, 0.1, 0.3, 1), numbers("dual_rate", 0.001, 0.01, 0.1, 1)
				if p.Data.Name == "adult" { // the features are not standardised
					rate = numbers("rate", 0.003, 0.01, 0.03, 0.1)
				}
				if p.Kind == neymanPearson {
					dual = numbers("dual_rate", 0.1, 1, 10)
				}
				return []Axis{objective, rate, dual, fixed("iterations", 500)}
			}},
		{Name: "moved threshold", Worker: "thresholds", Call: "moved-threshold", Deterministic: true,
			grid: func(Problem) []Axis {
				return []Axis{fixed("solver", "newton-cholesky"), numbers("C", 0.001, 0.01, 0.1, 1, 10, 100),
					choice("class_weight", nil, "balanced")}
			}},
	}
}

// searched returns the problem whose search also serves p. The three bounds on a false positive
// rate use the search at 5 %.
func (p Problem) searched() Problem {
	if p.Kind == neymanPearson {
		p.Bound = 0.05
	}
	return p
}
