//go:build race

package behaviour

// The program under test is a process of its own, built without the race detector.
const raceDetector = true
