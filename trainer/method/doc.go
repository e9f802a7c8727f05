// Package method implements the optimisation methods that trainer.Train runs, one file for each
// method. A method is a struct. The exported fields are the settings, with 0 as the default. The
// doc comment gives the equations and their source.
//
// PPALA and PLADA are the methods of Moon et al., "Beyond Convexity"; perturbed.go has the dual
// state of both. The other methods are baselines. GDPA, GDA, ALM, Penalty and Unconstrained take
// the same primal steps as PPALA. SSG, IPPSSG, IPPConEx, NLIAPIAL and MultiplierModel have their
// own steps.
package method
