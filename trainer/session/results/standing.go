package results

import (
	"math"
	"strconv"

	"ppal/constraints"
)

// Rating is the worth of a result in three steps, which tables, pages and sweeps share.
type Rating int

// The ratings, from the worst to the best.
const (
	Unmet     Rating = iota // a constraint is not met, not promised, or cannot be judged
	TrainOnly               // met on the training rows, and exceeded on held-out rows; or see Outcome.GivenUp
	Good                    // met, and not contradicted by the held-out rows
)

// Standing says how a constraint stands after a run.
type Standing struct {
	// State is the judgement on the training decisions, or on the surrogate if the bounds are on
	// surrogates.
	State constraints.State
	// Beyond lists the splits whose decisions are beyond the bound: held-out rows, and with bounds on
	// surrogates also the training rows.
	Beyond []Split
	// Unpromised says that the run has a confidence and does not promise the bound.
	Unpromised bool

	surrogate, givenUp bool
}

// Holds reports whether the constraint counts as met, and is promised if the run has a confidence.
func (s Standing) Holds() bool { return s.State.Holds() && !s.Unpromised }

// Rating returns the rating of the constraint.
func (s Standing) Rating() Rating {
	switch {
	case !s.Holds():
		return Unmet
	case s.Beyond != nil || s.givenUp:
		return TrainOnly
	}
	return Good
}

// String describes the standing in a few words.
func (s Standing) String() string {
	text := string(s.State)
	switch {
	case s.Unpromised && s.State.Holds():
		return "not promised for new rows"
	case s.surrogate:
		if text = "surrogate " + text; s.givenUp {
			text += ", class given up"
		}
	case s.State.Nearly():
		text = "met " + text
	}
	if s.Rating() == TrainOnly && !s.surrogate {
		if s.State.Nearly() {
			text += ","
		}
		text += " on the training rows only"
	}
	return text
}

// Rounding bounds the rounding errors of a difference of rates; one row of 100 million weighs more.
const Rounding = 1e-9

// Number formats a rate, a gap or a loss with the given number of decimals. A value outside -10..10
// has as many digits instead, and a value that would be shown as 0 has two digits.
func Number(v float64, decimals int) string {
	if math.Abs(v) >= 10 {
		return strconv.FormatFloat(v, 'g', decimals, 64)
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if shown, err := strconv.ParseFloat(text, 64); err == nil && shown == 0 && v != 0 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return text
}
