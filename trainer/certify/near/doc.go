// Package near measures near stationarity: the distance of an iterate to the solution of its
// proximal problem.
package near
