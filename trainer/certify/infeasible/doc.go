// Package infeasible searches for the least violation of the constraints near a point, and
// certifies that the constraints cannot be met near the point.
package infeasible
