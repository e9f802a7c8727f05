// Package licenses holds the licences and notices of the modules that the program links, and of
// Go's standard library. `ppal version --licenses` prints them. The texts are collected from the
// modules by
//
//	go test ./internal/licenses -update
package licenses

import _ "embed"

// Text has a section for each licence: the modules under this licence, then its text.
//
//go:embed third-party.txt
var Text string
