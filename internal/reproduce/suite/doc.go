// Package suite compares ppal with other optimisers on a table of problems under constraints
// (`ppal reproduce suite`).
//
// Each problem is defined once, by Problems. ppal trains it through trainer.Train. The other
// optimisers are Python processes (internal/peers/suite), which evaluate the same problem through
// an oracle: a process of ppal that answers requests for values and gradients (Serve). A meter
// counts the passes of every optimiser in the same way, and certifies its points.
//
// Compare measures all runs, each on one thread, and keeps them in a journal. An Outcome compares
// ppal with every other solver by performance profiles, separately for the problems to tune on and
// for the held-out problems.
package suite
