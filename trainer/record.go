package trainer

import (
	"math"

	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// Record describes a run at x_k, with the dual variables of step k. Pointers and slices are nil if
// the method lacks the quantity.
type Record struct {
	Iteration           int
	Epoch               float64   // passes over the training data
	Seconds             float64   // training time, without recording and certificates
	GradientEvaluations int       // backward passes
	Objective           float64   // f(x) + r(x)
	Constraints         []float64 // g(x)
	MaxViolation        float64   // max_j max(0, g_j)
	Infeasibility       float64   // ||max(0, g)||
	Stationarity        float64
	Complementarity     float64
	Multipliers         []float64 // lambda_k
	Auxiliary           []float64 // mu_k
	Slack               []float64 // u_k
	Delta               *float64  // delta that produced the dual variables of x_k
	StepSize            *float64  // step size that produced x_k
	// Means of the residuals over the records after the start; nil at the start.
	MeanStationarity    *float64
	MeanInfeasibility   *float64
	MeanComplementarity *float64
	// Sample is the number of rows whose gradient the residuals have, and whose values the record has
	// unless it is the last one (Settings.Sample); 0: all rows.
	Sample  int
	GivenUp bool // the model does not decide for the class of the objective: see Settings.GivenUp

	// NearStationarity is nil at records that Settings.NearEvery does not select.
	NearStationarity *certify.Stationarity
	NearReason       string

	// Certificate uses the method's own multiplier (Report.Nu) if the method has one.
	Certificate certify.Certificate
	Measures    map[string]float64 // results of Settings.Measure
}

// Feasible reports whether the largest violation is at most a tolerance, and the model decides for
// the class of the objective.
func (r *Record) Feasible(tolerance float64) bool { return r.MaxViolation <= tolerance && !r.GivenUp }

// Recorder observes a run. A Recorder must not change the problem or the method, and must not keep
// the record's slices.
type Recorder interface {
	Record(r *Record) error
}

// Ticker is a Recorder that observes every iteration.
type Ticker interface {
	Tick(at *problem.Point)
}

// Stager is a Recorder that observes the long steps of a run that are not iterations: the ends of
// rounds and the search for a certificate. Stage receives the name of a step that begins, or "" if
// iterations follow.
type Stager interface {
	Stage(name string)
}

// stage tells the name of a step to r, if r is a Stager.
func stage(r Recorder, name string) {
	if s, ok := r.(Stager); ok {
		s.Stage(name)
	}
}

// Recorders calls several recorders in turn and stops at the first error.
type Recorders []Recorder

// Record implements Recorder.
func (rs Recorders) Record(r *Record) error {
	for _, each := range rs {
		if err := each.Record(r); err != nil {
			return err
		}
	}
	return nil
}

// Tick implements Ticker.
func (rs Recorders) Tick(at *problem.Point) {
	for _, each := range rs {
		if t, ok := each.(Ticker); ok {
			t.Tick(at)
		}
	}
}

// Stage implements Stager.
func (rs Recorders) Stage(name string) {
	for _, each := range rs {
		stage(each, name)
	}
}

// Decay holds the exponents p of the running means of the squared residuals. A mean falls about as
// k^p along the run. The theorems give p = -1, up to a logarithm. An exponent is NaN if the run has
// fewer than 3 records after the start.
type Decay struct {
	Stationarity, Infeasibility, Complementarity float64
}

// residuals accumulates the means and the decay of the residuals over the records.
type residuals struct {
	count   int
	sum     [3]float64
	squares [3]float64
	fits    [3]logFit
}

// add includes the record r and sets the means of r. add ignores the start.
func (s *residuals) add(r *Record) {
	if r.Iteration == 0 {
		return
	}
	s.count++
	means := [3]float64{}
	for i, v := range [3]float64{r.Stationarity, r.Infeasibility, r.Complementarity} {
		s.sum[i] += v
		s.squares[i] += v * v
		means[i] = s.sum[i] / float64(s.count)
		s.fits[i].add(float64(r.Iteration), s.squares[i]/float64(s.count))
	}
	r.MeanStationarity, r.MeanInfeasibility, r.MeanComplementarity = &means[0], &means[1], &means[2]
}

// decay returns the exponents over the records so far.
func (s *residuals) decay() Decay {
	return Decay{s.fits[0].slope(), s.fits[1].slope(), s.fits[2].slope()}
}

// logFit accumulates the least-squares line of log y over log x.
type logFit struct{ n, x, y, xx, xy float64 }

// add includes the point (x, y). add ignores a point with y <= 0 or NaN.
func (f *logFit) add(x, y float64) {
	if !(y > 0) {
		return
	}
	x, y = math.Log(x), math.Log(y)
	f.n++
	f.x += x
	f.y += y
	f.xx += x * x
	f.xy += x * y
}

// slope returns the slope of the line, NaN with fewer than 3 points.
func (f *logFit) slope() float64 {
	if f.n < 3 {
		return math.NaN()
	}
	return (f.n*f.xy - f.x*f.y) / (f.n*f.xx - f.x*f.x)
}
