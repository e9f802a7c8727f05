// Package suite compares ppal with other optimisers on a table of problems under constraints
// (`ppal reproduce suite`).
//
// Each problem is defined once, by Problems. ppal trains it through trainer.Train. The other
// optimisers are Python processes (internal/peers/suite), which evaluate the same problem through
// an oracle: a process of ppal that answers requests for values and gradients (Serve). A meter
// counts the passes of every optimiser in the same way.
package suite
