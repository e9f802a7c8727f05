// Package trainer minimises a function under functional constraints,
//
//	minimise f(x) + r(x)   subject to   g_j(x) <= 0,  j = 1..m,
//
// where f and g may be non-convex, g may be a maximum of smooth pieces, and r is convex with a cheap proximal
// map. It holds the proximal-perturbed Lagrangian methods PPALA and PLADA of Moon et al., "Beyond Convexity",
// the first-order methods they are compared with, and the KKT certificate that measures any of them.
//
// A [Problem] owns the iterate and every vector of its size and says what f, g and weighted gradients are; a
// [Method] decides the next step from the m + 1 numbers that come back; [Train] runs the two and records.
// The package knows nothing of graphs, devices, data or terminals: trainer/graph makes problems from Gorgonia
// nodes, [Functions] makes them from Go functions.
package trainer
