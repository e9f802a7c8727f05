// Package session trains a model under constraints from its data to the files that a run leaves:
// loading and splitting the rows, normalising them, building the objective and the constraints as
// Gorgonia nodes, training, a KKT certificate (always in float64), measures on held-out rows, and
// the run's directory.
//
//	s, err := session.New(ctx, session.Options{
//		Data: session.Table{Dataset: "adult"},
//		Task: session.DemographicParity{},
//	})
//	result, err := s.Train(ctx)
//	err = s.Save("runs/adult")
//
// Options describe a run completely: a Source of rows, a Task, the model, the regularizer, the
// method and the Device. Zero values mean the defaults of the program ppal. The command ppal train
// uses this package.
//
// A Session has these steps, and each step is a method:
//
//	New       loads the data, states the task on them and builds the problem on the device
//	Open      makes the run's directory (optional: Save does it otherwise)
//	Optimize  runs the method
//	Certify   computes the certificate and the measures of the output
//	Save      writes the directory's files; plots and report.html need Files.Renderer
//	Close     gives the device back
//
// Errors wrap ErrOptions for options that do not fit, constraints.ErrSyntax for a constraint that
// the rows do not suit, a sentinel of datasets/dataerr for a file, problem.ErrNonFinite for a
// number of the training, ErrResume, or problem.ErrOrder for a step at the wrong time.
//
// Train calls Optimize and Certify. The command `ppal train --config DIR/config.yaml` repeats the
// run of a saved session, unless config.yaml lists parts that no flag expresses.
package session
