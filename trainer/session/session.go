package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// Pipeline is what a Session trains, certifies and saves. New assembles a pipeline from Options; a
// program with a problem.Problem of its own implements one and passes it to Run.
type Pipeline interface {
	// Describe says what is trained.
	Describe() Description
	// Problem is the problem that is trained, on all rows or on samples.
	Problem() problem.Problem
	// Explain is the device's table of the steps of an iteration.
	Explain() string
	// Optimize runs the method.
	Optimize(ctx context.Context, s trainer.Settings) (*trainer.Result, error)
	// Certify computes the certificate and the measures of the result of Optimize.
	Certify(r *trainer.Result) (*Result, error)
	// SaveModel writes the weights of the output as a safetensors file.
	SaveModel(path string) error
	// Close gives the device back.
	Close() error
}

var _ Pipeline = (*assembly)(nil)

// Session is one run, from its data to its files. It is used by one goroutine.
type Session struct {
	options  Options
	pipeline Pipeline
	files    *files           // the run's directory; nil before Open
	records  []trainer.Record // of a run whose directory is not open
	last     *trainer.Record  // the last record; nil before the first
	warnings []string
	training *trainer.Result // nil before Optimize
	result   *Result         // nil before Certify
	summary  Summary         // the zero value before Save
}

// New loads the data, initialises the model and builds the problem. A cancelled ctx ends New between
// these steps, with the context's error. Close gives back what New opened.
func New(ctx context.Context, o Options) (*Session, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	a, err := assemble(ctx, o)
	if err != nil {
		return nil, err // without a pipeline that holds nil
	}
	return run(a, a.options), nil
}

// Run is a session on the caller's own pipeline. Only the Settings and Files of the options count.
func Run(p Pipeline, o Options) *Session { return run(p, o.withProgram()) }

func run(p Pipeline, o Options) *Session {
	return &Session{options: o, pipeline: p, warnings: slices.Clone(p.Describe().Warnings)}
}

// Describe says what the session is about.
func (s *Session) Describe() Description {
	d := s.pipeline.Describe()
	d.Version = s.options.Files.Version
	d.Notes = concat(s.options.Files.Notes, d.Notes)
	if s.files != nil {
		d.Out = string(s.files.dir)
	}
	return d
}

// Problem is the problem that is trained.
func (s *Session) Problem() problem.Problem { return s.pipeline.Problem() }

// Method is the method.
func (s *Session) Method() trainer.Method { return s.options.Method }

// Explain is the device's table of the steps of an iteration.
func (s *Session) Explain() string { return s.pipeline.Explain() }

// Warnings are the warnings so far.
func (s *Session) Warnings() []string { return slices.Clone(s.warnings) }

// Train optimizes and certifies. A cancelled ctx ends the training early, with the status
// trainer.Interrupted and no error.
func (s *Session) Train(ctx context.Context) (*Result, error) {
	if _, err := s.Optimize(ctx); err != nil {
		return nil, err
	}
	return s.Certify()
}

// Optimize runs the method, with the records going to the open directory and to the settings'
// recorder. It may be called once. After an error the open directory has a summary of the last
// record, or is removed where there is none.
func (s *Session) Optimize(ctx context.Context) (*trainer.Result, error) {
	if s.training != nil {
		return nil, errors.New("session: the session has been trained already")
	}
	set := s.options.Settings
	recorders := trainer.Recorders{(*history)(s)}
	if set.Recorder != nil {
		recorders = append(recorders, set.Recorder)
	}
	tell := set.Warn
	set.Recorder = recorders
	set.Warn = func(warning string) {
		s.warnings = append(s.warnings, warning)
		if tell != nil {
			tell(warning)
		}
	}
	r, err := s.pipeline.Optimize(ctx, set)
	if err == nil {
		err = s.files.closeMetrics()
	}
	if err != nil {
		return r, s.fail(r, s.nameConstraint(err))
	}
	s.training = r
	return r, nil
}

// Certify computes the certificate in float64 and the measures of the output.
func (s *Session) Certify() (*Result, error) {
	if s.training == nil {
		return nil, errors.New("session: nothing has been trained")
	}
	var err error
	s.result, err = s.pipeline.Certify(s.training)
	return s.result, err
}

// Close gives the device back. The session cannot train afterwards.
func (s *Session) Close() error { return s.pipeline.Close() }

// history takes the records of the run.
type history Session

var _ trainer.Recorder = (*history)(nil)

// Record writes a record to the open directory, or keeps a copy.
func (h *history) Record(r *trainer.Record) error {
	own := *r
	own.Constraints, own.Multipliers = slices.Clone(r.Constraints), slices.Clone(r.Multipliers)
	own.Auxiliary, own.Slack = slices.Clone(r.Auxiliary), slices.Clone(r.Slack)
	if h.files != nil {
		if err := h.files.metrics.Record(r); err != nil {
			return err
		}
	} else {
		h.records = append(h.records, own)
	}
	h.last = &own
	return nil
}

// nameConstraint puts the name of a constraint in the place of its number.
func (s *Session) nameConstraint(err error) error {
	var bad *problem.NonFiniteError
	if !errors.As(err, &bad) || bad.Constraint == 0 {
		return err
	}
	names := s.pipeline.Describe().Constraints
	if bad.Constraint > len(names) {
		return err
	}
	named := *bad
	named.Term = fmt.Sprintf("constraint %q", names[bad.Constraint-1])
	return &named
}
