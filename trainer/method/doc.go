// Package method has the optimisation methods that trainer.Train runs, one file each: a struct
// whose exported fields are the settings, 0 being the default, and whose doc comment gives the
// equations and their source.
//
// PPALA and PLADA are the methods that this program is about (perturbed.go has their dual updates).
// The others are baselines: GDPA, GDA, ALM, Penalty and Unconstrained take the same primal steps;
// SSG, IPPSSG, IPPConEx, NLIAPIAL and MultiplierModel have steps of their own.
package method
