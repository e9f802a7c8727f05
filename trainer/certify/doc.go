// Package certify measures how nearly an iterate is a KKT point, with the multiplier that shows it.
package certify
