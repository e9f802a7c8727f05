// Package behaviour holds a table of training runs with their exact results.
//
// Every run in testdata/runs.json is a call of ppal train: its flags, a checksum of the trained
// weights, a checksum of the records, and the final objective, violation and certificate. The test
// repeats the runs and compares the results. A change that should not affect the numbers must keep
// the table. A change that should affect them records a new table:
//
//	go test ./internal/behaviour -update
//
// The runs specify their kernels (--simd), because results depend on the instruction set. A run is
// skipped if the CPU lacks its instructions, or if it needs published data and PPAL_DATA is not
// set. PPAL_PROGRAM is the path of a program to test instead of the program that the test builds.
package behaviour
