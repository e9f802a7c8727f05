package session

import (
	"context"
	"runtime/debug"

	"gorgonia.org/tensor"

	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// Train runs the method. It adds measures of every split to the settings' records and checks for a collapse.
func (e *Experiment) Train(ctx context.Context, s trainer.Settings) (*trainer.Result, error) {
	s.Measure = e.measure
	if threshold, ok := e.t.goal.collapse(); ok {
		s.CollapseAbove = threshold
	}
	if e.sampler == nil {
		return trainer.Train(ctx, e.problem, e.method, s)
	}
	s.Full, s.IterationsPerEpoch = e.problem, e.sampler.perPass()
	r, err := trainer.Train(ctx, e.sampler, e.method, s)
	if err == nil { // the output, which is not always the last record's
		x := e.iterate()
		e.sampler.Space().Read(x, problem.Iterate)
		e.problem.Space().Write(problem.Iterate, x)
	}
	return r, err
}

// measure evaluates every split at the iterate, whose forward pass on the training rows has been done.
func (e *Experiment) measure() (map[string]float64, error) {
	all := map[string]float64{}
	for _, s := range e.splits {
		m, err := e.measured(s)
		if err != nil {
			return nil, err
		}
		for name, v := range m.named {
			all[s.name+"_"+name] = v
		}
	}
	return all, nil
}

// measured evaluates a split at the iterate: on the training rows the scores of the last forward pass.
func (e *Experiment) measured(s *split) (measures, error) {
	if s.blocks != nil {
		scores, err := s.blocks.scores(e.iterate())
		if err != nil {
			return measures{}, err
		}
		return s.measure(scores)
	}
	v, err := s.problem.Watched(0)
	if err != nil {
		return measures{}, err
	}
	return s.measure(Float64s(v))
}

func (e *Experiment) iterate() []float64 {
	n, _ := e.problem.Dims()
	x := make([]float64, n)
	e.problem.Space().Read(x, problem.Iterate)
	return x
}

// Final is a finished run, measured.
type Final struct {
	Certificate certify.Certificate // in float64
	Objective   float64             // f + r, in float64
	Constraints []float64           // g, in float64
	Values      []float64           // f, then g + bound, as the training run computes them
	Splits      []SplitMeasures
}

// SplitMeasures are the measures of one split.
type SplitMeasures struct {
	Name      string // train, validation, test
	Named     map[string]float64
	Decisions []float64 // what each of Final.Values stands for on the model's decisions: errors, gaps
}

// sphereOfFloat32 is how near to the ball's sphere weights of float32 count as on it, in float64 too.
const sphereOfFloat32 = 1e-6

// Finish certifies the run's output in float64 and measures it.
func (e *Experiment) Finish(r *trainer.Result) (Final, error) {
	var final Final
	x := e.iterate()
	smooth, err := newExact(e.t, e.splits[0].rows, x)
	if err != nil {
		return Final{}, err
	}
	debug.FreeOSMemory() // what training and building it left would otherwise stay beside the vectors in float64
	p, err := wrapped(e.t.goal, smooth)
	if err != nil {
		return Final{}, err
	}
	at := problem.Point{Constraints: make([]float64, len(e.Bounds()))}
	if at.Objective, err = p.Forward(at.Constraints); err != nil {
		return Final{}, err
	}
	var set certify.Settings
	if e.dtype == tensor.Float32 {
		set.Sphere = sphereOfFloat32
	}
	if final.Certificate, err = certify.Measure(p, &at, r.Certificate.Nu, set); err != nil {
		return Final{}, err
	}
	final.Objective, final.Constraints = at.Objective+e.t.regularizer.Value(x), at.Constraints
	if _, err := e.problem.Forward(make([]float64, len(at.Constraints))); err != nil {
		return Final{}, err
	}
	for _, s := range e.splits {
		m, err := e.measured(s)
		if err != nil {
			return Final{}, err
		}
		if s.name == "train" {
			final.Values = m.values
		}
		final.Splits = append(final.Splits, SplitMeasures{s.name, m.named, m.decisions})
	}
	return final, nil
}

// Save writes the weights of the iterate, acting on raw rows, as a safetensors file.
func (e *Experiment) Save(path string) error {
	trained, err := models.Unstack(e.t.spec, e.iterate())
	if err != nil {
		return err
	}
	raw, err := e.normalization.Fold(e.t.spec, trained)
	if err != nil {
		return err
	}
	return models.SaveFile(path, models.Model{Spec: e.t.spec, Weights: raw, Normalization: e.normalization}, e.dtype)
}
