package results

import (
	"cmp"
	"math"
	"slices"

	"ppal/trainer"
	"ppal/trainer/certify"
)

// Infeasibility is the proof that a run's constraints cannot be met near its weights
// (certify.Infeasibility), with the keys of summary.json. It describes the point of the least
// violation that a search from the last iterate found. The file infeasible.safetensors has the
// weights of the point.
type Infeasibility struct {
	// Conflict lists the constraints that the point violates, the largest share first. The shares
	// are the weights y of the stationary combination of the constraints; their sum is 1.
	Conflict     []Conflicting `json:"conflict"`
	Constraints  []float64     `json:"constraints"`   // g_1..g_m at the point
	MaxViolation float64       `json:"max_violation"` // max_j g_j: raised by this amount, all bounds are met at the point
	// Relaxation is the least amount by which all bounds must be raised, to first order.
	Relaxation   float64 `json:"relaxation"`
	Stationarity float64 `json:"stationarity"` // relative to the gradients of the violated constraints
	// Radius is the distance from the point within which the constraints cannot be met, to first
	// order, relative to 1 + the norm of the weights.
	Radius float64 `json:"radius"`
	// BoundShifts are the amounts that the feedback of bounds on decisions had added to the bounds;
	// nil for bounds on surrogates.
	BoundShifts []float64 `json:"bound_shifts,omitempty"`
}

// Conflicting is a constraint of a conflict.
type Conflicting struct {
	Constraint string  `json:"constraint"` // its name
	Share      float64 `json:"share"`      // y_j, above 0
	Excess     float64 `json:"excess"`     // g_j at the point
}

// NewInfeasibility returns the proof c for constraints with the given names; nil for nil.
func NewInfeasibility(c *certify.Infeasibility, names []string) *Infeasibility {
	if c == nil {
		return nil
	}
	i := &Infeasibility{Constraints: c.Values, Relaxation: c.Relaxation, Stationarity: c.Stationarity, Radius: c.Radius, MaxViolation: slices.Max(c.Values)}
	for j, share := range c.Shares {
		if share > 0 {
			i.Conflict = append(i.Conflict, Conflicting{Constraint: names[j], Share: share, Excess: c.Values[j]})
		}
	}
	slices.SortStableFunc(i.Conflict, func(a, b Conflicting) int { return cmp.Compare(b.Share, a.Share) })
	return i
}

// Certificate is a certify.Certificate with the keys of summary.json: the residuals of the KKT
// conditions at the output, in float64.
type Certificate struct {
	Epsilon         float64   `json:"epsilon"`
	Stationarity    float64   `json:"stationarity"`
	Infeasibility   float64   `json:"feasibility"`
	Complementarity float64   `json:"complementarity"`
	Nu              []float64 `json:"nu"`                       // the multipliers of g_1..g_m, at least 0
	Domain          float64   `json:"domain,omitempty"`         // the relative distance of the output to dom r; absent for 0
	UpperBound      bool      `json:"upper_bound,omitempty"`    // f or g may have kinks that the problem does not describe
	KinkTolerance   float64   `json:"kink_tolerance,omitempty"` // pieces of a maximum within it count as equal; absent for 0
	// NotResolved says that other multipliers may show a smaller epsilon.
	NotResolved bool `json:"not_resolved,omitempty"`
	// Own holds the method's own multiplier if nu is another; absent otherwise.
	Own *OwnMultiplier `json:"own,omitempty"`
}

// OwnMultiplier is a certify.Own with the keys of summary.json: the residuals with the method's own
// multipliers Nu of g_1..g_m.
type OwnMultiplier struct {
	Epsilon         float64   `json:"epsilon"`
	Stationarity    float64   `json:"stationarity"`
	Complementarity float64   `json:"complementarity"`
	Nu              []float64 `json:"nu"`
}

// NewCertificate returns c with the keys of summary.json.
func NewCertificate(c certify.Certificate) *Certificate {
	return &Certificate{Epsilon: c.Epsilon, Stationarity: c.Stationarity, Infeasibility: c.Infeasibility, Complementarity: c.Complementarity,
		Nu: c.Nu, Domain: c.Domain, UpperBound: c.UpperBound, KinkTolerance: c.KinkTolerance, NotResolved: c.NotResolved, Own: (*OwnMultiplier)(c.Own)}
}

// WarningCode says what a warning of the run is about.
type WarningCode struct {
	Warning int    `json:"warning"` // place in the list of warnings, from 0
	Code    string `json:"code"`
	// Claim is the part of the warning that the numbers of the run decide, and Advice the rest.
	Claim  string `json:"claim"`
	Advice string `json:"advice,omitempty"`
}

// NewWarningCodes returns the codes of those warnings of a run that have one.
func NewWarningCodes(list trainer.Warnings) (codes []WarningCode) {
	for i, w := range list {
		if w.Code != "" {
			codes = append(codes, WarningCode{Warning: i, Code: string(w.Code), Claim: cmp.Or(w.Claim, w.Text), Advice: w.Advice})
		}
	}
	return codes
}

// Sentence returns the warning.
func (c *WarningCode) Sentence() string {
	if c.Advice == "" {
		return c.Claim
	}
	return c.Claim + "; " + c.Advice
}

// Summary is the content of summary.json: the result of a finished run.
type Summary struct {
	Schema     int     `json:"schema"` // the version of the keys
	Status     string  `json:"status"` // why the run stopped: a trainer.Status
	Iterations int     `json:"iterations"`
	Seconds    float64 `json:"seconds"` // of training, as all times in seconds of wall time
	// Reading is the time to read the data and to build the problem. Opening is the time to open a
	// GPU, which begins with the reading and is mostly a part of it. Measuring is the time of records,
	// certificate, measures and plots. Total is the wall time of all.
	SecondsOpening   float64 `json:"seconds_opening"`
	SecondsReading   float64 `json:"seconds_reading"`
	SecondsMeasuring float64 `json:"seconds_measuring"`
	SecondsTotal     float64 `json:"seconds_total"`
	// The parts of SecondsMeasuring. Certificates has the search for multipliers and the certificate
	// in float64, Rounds the ends of rounds with the exact step, Records the records with their
	// measures, and Plots the plots and the other files. What remains are the measures of the result.
	// A run that continues counts its own part.
	SecondsCertificates float64   `json:"seconds_certificates"`
	SecondsRounds       float64   `json:"seconds_rounds"`
	SecondsRecords      float64   `json:"seconds_records"`
	SecondsPlots        float64   `json:"seconds_plots"`
	Objective           float64   `json:"objective"`     // f + r
	Constraints         []float64 `json:"constraints"`   // g_1..g_m
	Bounds              []float64 `json:"bounds"`        // kappa, one for each constraint
	MaxViolation        float64   `json:"max_violation"` // max_j max(0, g_j)
	// Certificate is null for thresholds on given scores, whose objective and constraints are those of
	// the decisions.
	Certificate *Certificate `json:"certificate"`
	// Converged says that the certificate's epsilon is at most 1e-2 max(1, |objective|), and that
	// bounds on surrogates are met within the feasibility tolerance.
	Converged bool `json:"converged"`
	// Verdict says in words why the run has not converged and what to change, or which bounds
	// conflict; "" for a converged run.
	Verdict string `json:"verdict"`
	// VerdictClaim is the beginning of Verdict, which the numbers of the summary decide. Reasons and
	// advice follow it in Verdict.
	VerdictClaim string `json:"verdict_claim,omitempty"`
	// Infeasibility proves that the bounds cannot be met near the weights; absent unless the status is
	// "infeasible".
	Infeasibility *Infeasibility `json:"infeasibility,omitempty"`
	BestFeasible  *BestFeasible  `json:"best_feasible"` // null: no record was feasible
	// Train, Validation and Test are the measures of a split by name; null: the split has no rows.
	Train      map[string]float64 `json:"train"`
	Validation map[string]float64 `json:"validation"`
	Test       map[string]float64 `json:"test"`
	// Outcome has the keys decisions, objective_on_decisions, acceptance_rate and so on; a task of the
	// caller's own without decisions has none of these keys.
	*Outcome
	// Rates are the rates of decisions on each split, of all rows and by group; absent if the scores
	// do not decide between classes.
	Rates  map[Split]*RateTable `json:"rates,omitempty"`
	Device string               `json:"device"`
	// kind of products with the data matrix that ran: int8x3, float32, ...
	Products  string   `json:"products"`
	PeakBytes uint64   `json:"peak_bytes"` // peak resident memory, in bytes
	Warnings  []string `json:"warnings"`
	// WarningCodes say what the warnings are about, except for warnings about settings and data.
	WarningCodes []WarningCode `json:"warning_codes,omitempty"`
	Version      string        `json:"version"`

	// OutputIteration is the iteration of the weights in the model's file.
	OutputIteration int           `json:"output_iteration"`
	ResidualDecay   ResidualDecay `json:"residual_decay"`
	Notes           []string      `json:"notes"`
	Error           string        `json:"error,omitempty"` // set if the run failed

	// Files has the SHA-256 of the run's other files, in hex, by name.
	Files map[string]string `json:"files,omitempty"`
	// Checksum is the SHA-256 of summary.json, in hex, with zeros in place of its own digits.
	Checksum string `json:"checksum,omitempty"`
}

// Measures sets the measures of a split.
func (s *Summary) Measures(split Split, named map[string]float64) {
	switch split {
	case Training:
		s.Train = named
	case Validation:
		s.Validation = named
	case Test:
		s.Test = named
	}
}

// MeasuresOf returns the measures of a split.
func (s *Summary) MeasuresOf(split Split) map[string]float64 {
	switch split {
	case Training:
		return s.Train
	case Validation:
		return s.Validation
	case Test:
		return s.Test
	}
	return nil
}

// BestFeasible is the recorded feasible iterate with the smallest objective. The file
// best.safetensors has its weights.
type BestFeasible struct {
	Iteration int     `json:"iteration"`
	Objective float64 `json:"objective"`
}

// ResidualDecay holds the exponents p of the running mean of the squared residuals, about k^p; null
// if there is nothing to fit.
type ResidualDecay struct {
	Stationarity    *float64 `json:"stationarity"`
	Infeasibility   *float64 `json:"feasibility"`
	Complementarity *float64 `json:"complementarity"`
}

// NewResidualDecay replaces NaN by null.
func NewResidualDecay(d trainer.Decay) ResidualDecay {
	known := func(x float64) *float64 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	return ResidualDecay{known(d.Stationarity), known(d.Infeasibility), known(d.Complementarity)}
}
