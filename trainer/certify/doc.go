// Package certify measures how close an iterate is to a KKT point, with the multiplier that proves
// the distance.
package certify
