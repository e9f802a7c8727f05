// Package method implements the optimisation methods that trainer.Train runs, one file for each
// method. A method is a struct: the exported fields are the settings, with 0 as the default, and
// the doc comment gives the equations and their source.
//
// PPALA and PLADA are the methods of the paper; perturbed.go has their dual updates. The others are
// baselines: GDPA, GDA, ALM, Penalty and Unconstrained take the same primal steps; SSG, IPPSSG,
// IPPConEx, NLIAPIAL and MultiplierModel have steps of their own.
package method
