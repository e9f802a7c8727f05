// Package session assembles a training run from its configuration: rows, model, objective and constraints, problem and
// method; and sums the finished run up, with a certificate in float64 whatever the run computed in.
package session
