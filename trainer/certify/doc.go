// Package certify says what an iterate proves. Measure tells how close it is to a KKT point, with
// the multiplier that proves the result; MeasureNear, its near stationarity: the distance to the
// solution of its proximal problem; MeasureViolation and SearchFeasible, the least violation of the
// constraints near it, and that they cannot be met there.
package certify
