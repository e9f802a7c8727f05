//go:build race

package require

// Racing is true if the race detector runs.
const Racing = true
