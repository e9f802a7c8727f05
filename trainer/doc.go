// Package trainer minimises a function under functional constraints,
//
//	minimise f(x) + r(x)   subject to   g_j(x) <= 0,  j = 1..m,
//
// for non-convex f and g. A constraint g_j may be a maximum of smooth pieces; r is convex with a
// cheap proximal map. [Train] runs a [Method] on a problem and records the progress; a [Stepper]
// drives a method's rule inside the caller's own loop.
//
// The packages below trainer:
//
//   - problem: the problem to train. It evaluates f, g and weighted gradients; its space holds the
//     iterate and vectors of the iterate's length.
//   - step: the primal steps.
//   - method: the methods, PPALA and PLADA of Moon et al., "Beyond Convexity", and baselines.
//   - certify: the KKT certificate, which measures the result of any method. Its package near
//     measures near stationarity.
//   - graph: problems of Gorgonia nodes.
//   - session: whole runs, from a data set to the files of a run.
//
// Apart from graph and session, the packages do not depend on graphs, devices, data or terminals.
package trainer
