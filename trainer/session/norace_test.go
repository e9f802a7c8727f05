//go:build !race

package session

// raceDetector is true if the tests run under the race detector.
const raceDetector = false
