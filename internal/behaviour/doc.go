// Package behaviour holds a table of training runs with their results, to the bit.
//
// Every run in testdata/runs.json is a call of ppal train: its flags, a checksum of the trained
// weights, a checksum of the records, and the final objective, violation and certificate. The test
// runs the program again and compares. A change that is meant to keep the numbers keeps this table;
// a change that is meant to alter them records a new one:
//
//	go test ./internal/behaviour -update
//
// The runs name their kernels (--simd), because results depend on the instruction set. A run whose
// instructions the CPU lacks is skipped, and so are the runs on real data unless PPAL_DATA is set.
// PPAL_PROGRAM names a program to test in place of the one that the test builds.
package behaviour
