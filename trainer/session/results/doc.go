// Package results has the types of what a run says when it has ended: the contents of summary.json,
// model.json and preparation.yaml, the provenance in config.yaml, and the outcome of each
// constraint. Package session fills the types. This package reads and writes no files.
//
// In JSON, null and a missing key stand for a nil pointer: the run has no such number. Rates are
// shares of rows, from 0 to 1.
package results
