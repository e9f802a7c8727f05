package plan

import (
	"fmt"
	"math"

	"ppal/trainer/graph/describe"
)

// Normalize gives each of Groups ranges of a row's columns the mean 0 and the variance 1, except
// for Epsilon. Means and variances are in float64.
type Normalize struct {
	nodes
	describe.Normalization
	In, Out View
}

// NormalizeGrad is the derivative of Normalize times D. It computes the means and the variances of
// In again.
type NormalizeGrad struct {
	nodes
	describe.Normalization
	In, D, Out View
}

// checkNormalization returns an error if a normalization does not fit its inputs, matrices of one
// shape.
func checkNormalization(n describe.Normalization, in []*value, inputs int) error {
	switch {
	case len(in) != inputs || !in[0].sameShape(in[inputs-1]):
		return fmt.Errorf("described as a normalization of %d matrices of one shape, but the op has %d inputs", inputs, len(in))
	case n.Groups < 1 || in[0].cols%n.Groups != 0 || !(n.Epsilon > 0):
		return fmt.Errorf("described as a normalization of %d groups with epsilon %v, but its input has %d columns", n.Groups, n.Epsilon, in[0].cols)
	}
	return nil
}

// Reads implements Step.
func (s *Normalize) Reads() []Operand { return []Operand{{s.In, ByRow}} }

// Writes implements Step.
func (s *Normalize) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *Normalize) FLOPs() int64 { return 5 * int64(s.Out.Len()) }

// Reads implements Step.
func (s *NormalizeGrad) Reads() []Operand { return []Operand{{s.In, ByRow}, {s.D, ByRow}} }

// Writes implements Step.
func (s *NormalizeGrad) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *NormalizeGrad) FLOPs() int64 { return 10 * int64(s.Out.Len()) }

func (s *Normalize) String() string {
	return assign(s.Out, fmt.Sprintf("normalize %d groups(%s)", s.Groups, operand(s.In)), false)
}

func (s *NormalizeGrad) String() string {
	return assign(s.Out, fmt.Sprintf("normalize' %d groups(%s, %s)", s.Groups, operand(s.In), operand(s.D)), false)
}

// moments returns the mean and 1/sqrt(variance + epsilon) of a range.
func moments[T Float](x []T, epsilon float64) (mean, inverse float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += float64(v) / n
	}
	variance := 0.0
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean) / n
	}
	return mean, 1 / math.Sqrt(variance+epsilon)
}

func normalize[T Float](s *Normalize, m *Memory[T], lo, hi int) {
	size := s.In.Cols / s.Groups
	for i := lo; i < hi; i++ {
		for g := range s.Groups {
			x, y := channel(m.Row(s.In, i), g, size), channel(m.Row(s.Out, i), g, size)
			mean, inverse := moments(x, s.Epsilon)
			for j, v := range x {
				y[j] = T((float64(v) - mean) * inverse)
			}
		}
	}
}

func normalizeGrad[T Float](s *NormalizeGrad, m *Memory[T], lo, hi int) {
	size := s.In.Cols / s.Groups
	for i := lo; i < hi; i++ {
		for g := range s.Groups {
			x, d, out := channel(m.Row(s.In, i), g, size), channel(m.Row(s.D, i), g, size), channel(m.Row(s.Out, i), g, size)
			mean, inverse := moments(x, s.Epsilon)
			first, second := 0.0, 0.0 // the means of d and of d y
			for j, v := range d {
				first += float64(v) / float64(size)
				second += float64(v) * (float64(x[j]) - mean) * inverse / float64(size)
			}
			for j, v := range d {
				out[j] = T((float64(v) - first - (float64(x[j])-mean)*inverse*second) * inverse)
			}
		}
	}
}
