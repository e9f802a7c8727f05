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
// Options say everything about a run, in types: a Source of rows, a Task, the model, the
// regularizer, the method and the Device. Zero values are the defaults of the program ppal, whose
// command train is a client of this package.
//
// A Session goes through these steps, each a method:
//
//	New       loads the data, states the task on them and builds the problem on the device
//	Open      makes the run's directory (optional: Save does it otherwise)
//	Optimize  runs the method
//	Certify   computes the certificate and the measures of the output
//	Save      writes the directory's files
//	Close     gives the device back
//
// Train is Optimize and Certify. The command `ppal train --config DIR/config.yaml` repeats the run
// of a saved session, unless config.yaml lists parts that only the program has.
package session
