package session

import (
	"math"

	"ppal/datasets/matrix"
	"ppal/internal/rundir"
	"ppal/trainer/session/internal/measure"
)

// DefaultExamples is the default of Files.Examples.
const DefaultExamples = 5

// examples returns the wrong decisions of scores with the largest margins on a split, at most most
// of each class. examples returns nil if the scores decide nothing.
func (a *assembly) examples(s *split, scores []float64, most int) (*rundir.Examples, error) {
	decided, err := s.decided(scores)
	if decided == nil || err != nil {
		return nil, err
	}
	d := a.data.Description
	display := &measure.Display{Source: s.Source, Attributes: s.Attributes, Features: s.Features(), Read: s.readRow,
		Center: a.data.Center, Scale: a.data.Scale, Preparation: d.Preparation, Names: d.FeatureNames}
	if _, bytes := s.Data.(matrix.EightBit); bytes && d.Preparation == nil && a.data.Label == nil && a.data.Shape.Pixels() == s.Features() {
		display.Shape, display.Pixels = a.data.Shape, s.pixels
	}
	return decided.Examples(display, most)
}

// pixels returns the 8-bit values of row i, which another process may have.
func (s *split) pixels(i int) ([]uint8, error) {
	data, bytes := s.Data.(matrix.EightBit), make([]uint8, s.Features())
	if s.fetch == nil {
		return data.ByteRow(i, bytes), nil
	}
	row := make([]float64, len(bytes))
	if err := s.readRow(row, i); err != nil {
		return nil, err
	}
	for j, v := range row {
		bytes[j] = uint8(math.Round(v / data.ByteScale()))
	}
	return bytes, nil
}
