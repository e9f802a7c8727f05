//go:build !race

package behaviour

const raceDetector = false
