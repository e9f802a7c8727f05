//go:build race

package behaviour

// The program under test is a separate process, which the test builds without the race detector.
const raceDetector = true
