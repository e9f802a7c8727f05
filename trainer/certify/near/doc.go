// Package near measures near stationarity: the distance of an iterate from the solution of its
// proximal problem.
package near
