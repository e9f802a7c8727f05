// Package trainer minimises a function under functional constraints,
//
//	minimise f(x) + r(x)   subject to   g_j(x) <= 0,  j = 1..m,
//
// where f and g may be non-convex, g may be a maximum of smooth pieces, and r is convex with a
// cheap proximal map. [Train] runs a [Method] on a problem and records; a [Stepper] drives a
// method's rule in a loop of the caller's own.
//
// The packages below it:
//
//   - problem: what is trained. A problem evaluates f, g and weighted gradients, and its space holds
//     the iterate and the vectors of its size.
//   - step: the primal steps.
//   - method: the methods, PPALA and PLADA of Moon et al., "Beyond Convexity", and baselines.
//   - certify: the KKT certificate that measures the result of any method; near: near stationarity.
//   - graph: problems of Gorgonia nodes.
//   - session: whole runs, from a dataset to the files of a run.
//
// Apart from graph and session they know nothing of graphs, devices, data or terminals.
package trainer
