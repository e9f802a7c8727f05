//go:build !race

package racing

// Detector is true if the race detector runs.
const Detector = false
