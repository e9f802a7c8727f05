package verify

import (
	"fmt"
	"math"
	"slices"
)

// Report is the result of a check.
type Report struct {
	Run string `json:"run"`
	// Verified says that nothing differs. It is the same as no Problems.
	Verified bool `json:"verified"`
	// Files names the files whose checksums agree.
	Files []string `json:"files"`
	// Problems has a sentence for each file, checksum and number that differs.
	Problems    []string     `json:"problems"`
	Comparisons []Comparison `json:"comparisons"`
	// Skipped has a sentence for each claim that was not checked, with the reason.
	Skipped []string `json:"not_checked"`
}

// Comparison compares a number of a run's files with the recomputed number.
type Comparison struct {
	Section    string  `json:"section"`
	Quantity   string  `json:"quantity"`
	Reported   float64 `json:"reported"`
	Recomputed float64 `json:"recomputed"`
	Difference float64 `json:"difference"` // |reported - recomputed|
	Tolerance  float64 `json:"tolerance"`
	OK         bool    `json:"ok"`
}

// The sections of comparisons.
const (
	sectionBounds      = "bounds"
	sectionConstraints = "constraints"
	sectionSolution    = "solution"
	sectionDecisions   = "decisions"
	sectionRecords     = "records"
	sectionBest        = "best feasible record"
	sectionProof       = "proof of infeasibility"
)

// compare adds a comparison, and a problem if the numbers differ.
func (r *Report) compare(section, quantity string, reported float64, n number) {
	c := Comparison{Section: section, Quantity: quantity, Reported: reported, Recomputed: n.value,
		Difference: math.Abs(reported - n.value), Tolerance: n.tolerance}
	c.OK = c.Difference <= c.Tolerance // false for NaN
	if math.IsNaN(c.Difference) || math.IsInf(c.Difference, 0) {
		r.problem("%s is %v in the run's files, and %v recomputed", quantity, reported, n.value)
		return // JSON has no such numbers
	}
	r.Comparisons = append(r.Comparisons, c)
	if !c.OK {
		r.problem("%s is %.10g in the run's files, and %.10g recomputed (tolerance %.2g)", quantity, reported, n.value, n.tolerance)
	}
}

// exact compares a number that must be equal up to the rounding of sums.
func (r *Report) exact(section, quantity string, reported, recomputed float64) {
	r.compare(section, quantity, reported, number{recomputed, 1e-12 * (1 + math.Abs(recomputed)), true})
}

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

func (r *Report) skip(format string, args ...any) {
	r.Skipped = append(r.Skipped, fmt.Sprintf(format, args...))
}

// sampled is skip for a sentence that several claims may give.
func (r *Report) sampled(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(r.Skipped, s) {
		r.Skipped = append(r.Skipped, s)
	}
}

// Lines returns the comparisons for a table. A section with more than most comparisons gives one
// comparison, the one closest to its tolerance or farthest beyond; its quantity has the count.
func (r *Report) Lines(most int) (list []Comparison) {
	for from := 0; from < len(r.Comparisons); {
		to := from
		for to < len(r.Comparisons) && r.Comparisons[to].Section == r.Comparisons[from].Section {
			to++
		}
		own := r.Comparisons[from:to]
		if len(own) <= most {
			list = append(list, own...)
		} else {
			worst := own[0]
			for _, c := range own[1:] {
				if c.Difference-c.Tolerance > worst.Difference-worst.Tolerance {
					worst = c
				}
			}
			worst.Quantity = fmt.Sprintf("%d numbers, the worst: %s", len(own), worst.Quantity)
			list = append(list, worst)
		}
		from = to
	}
	return list
}
