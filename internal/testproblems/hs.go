package testproblems

import (
	"fmt"
	"math"
)

// Hock and Schittkowski write constraints as c(x) >= 0; here g = -c. Bounds on
// single variables are the box. The starts are the published starts.

// hs sets the name of problem number of the collection and the qualifications that hold for most
// problems. Callers clear the qualifications that do not hold.
func hs(number int, p Problem) Problem {
	p.Name = fmt.Sprintf("HS%d", number)
	p.Source = fmt.Sprintf("Hock & Schittkowski, Test Examples for Nonlinear Programming Codes, "+
		"LNEMS 187 (1981), problem %d", number)
	p.StrictComplementarity, p.LICQ, p.MFCQ = true, true, true
	return p
}

func inf() float64 { return math.Inf(1) }
