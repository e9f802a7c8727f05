package models

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrNormalization is wrapped by every error about a [Normalization].
var ErrNormalization = errors.New("invalid normalization")

// NormalizationKind names the transformation of the rows before training.
type NormalizationKind string

// The kinds of normalization. The empty string means NormalizeNone.
const (
	NormalizeNone        NormalizationKind = "none"        // x
	NormalizeCenter      NormalizationKind = "center"      // x - c
	NormalizeStandardize NormalizationKind = "standardize" // (x - c)/s
)

// Normalization is the affine map x -> (x - c)/s under which a model was trained, with one c for
// each feature and one s for all features. c and s are in the units of the raw rows. The zero value
// is the identity.
type Normalization struct {
	Kind   NormalizationKind `json:"kind"`
	Center []float64         `json:"center,omitempty"` // c; empty if Kind is none
	// s > 0 if Kind is standardize; else 0 or 1
	Deviation float64 `json:"deviation,omitempty"`
}

// Validate checks the map against the number of features. Errors wrap [ErrNormalization].
func (n Normalization) Validate(inputs int) error {
	centers, deviation := inputs, n.Deviation == 0 || n.Deviation == 1
	switch n.Kind {
	case "", NormalizeNone:
		centers = 0
	case NormalizeCenter:
	case NormalizeStandardize:
		deviation = n.Deviation > 0 && !math.IsInf(n.Deviation, 0)
	default:
		return fmt.Errorf("models: %w: unknown kind %q, use none, center or standardize", ErrNormalization, n.Kind)
	}
	if len(n.Center) != centers {
		return fmt.Errorf("models: %w: %d centers, kind %q of %d features needs %d", ErrNormalization, len(n.Center), n.Kind, inputs, centers)
	}
	if !deviation {
		return fmt.Errorf("models: %w: deviation %v (standardize: positive and finite; else 0 or 1)", ErrNormalization, n.Deviation)
	}
	for i, c := range n.Center {
		if math.IsNaN(c) || math.IsInf(c, 0) {
			return fmt.Errorf("models: %w: center of feature %d is %v", ErrNormalization, i, c)
		}
	}
	return nil
}

// scale returns s.
func (n Normalization) scale() float64 {
	if n.Kind == NormalizeStandardize {
		return n.Deviation
	}
	return 1
}

// Fold turns weights that act on (x - c)/s into weights that act on raw rows x and give the same
// scores. For a first layer ([Parameter.FirstLayer])
//
//	W_raw = W/s,   b_raw = b - W c/s.
//
// An architecture without first layers keeps its weights, and [Model.Predict] normalises the rows.
// Fold does not change its argument. Its errors are those of the two Validate methods and of
// [Weights.Check].
func (n Normalization) Fold(a Architecture, w Weights) (Weights, error) {
	return n.mapFirstLayers(a, w, func(row []float64, bias *float64) {
		s := n.scale()
		for j := range row {
			row[j] /= s
		}
		*bias -= n.dot(row)
	})
}

// Unfold inverts [Normalization.Fold]: b = b_raw + W_raw c, W = s W_raw.
func (n Normalization) Unfold(a Architecture, w Weights) (Weights, error) {
	return n.mapFirstLayers(a, w, func(row []float64, bias *float64) {
		s := n.scale()
		*bias += n.dot(row)
		for j := range row {
			row[j] *= s
		}
	})
}

// apply replaces the rows x by (x - c)/s.
func (n Normalization) apply(rows []float64) {
	s, d := n.scale(), len(n.Center)
	for i := range rows {
		rows[i] = (rows[i] - n.Center[i%d]) / s
	}
}

// dot returns the inner product of row and c.
func (n Normalization) dot(row []float64) float64 {
	var sum float64
	for j, c := range n.Center {
		sum += row[j] * c
	}
	return sum
}

// mapFirstLayers applies change to each row of a copy of the first layers' weights, and its bias.
func (n Normalization) mapFirstLayers(a Architecture, w Weights, change func(row []float64, bias *float64)) (Weights, error) {
	if err := w.Check(a); err != nil {
		return nil, err
	}
	inputs, _ := a.Dims()
	if err := n.Validate(inputs); err != nil {
		return nil, err
	}
	mapped := slices.Clone(w)
	for _, k := range firstLayers(a) {
		weight, bias := slices.Clone(w[k].Data), slices.Clone(w[k+1].Data)
		for i := range bias {
			change(weight[i*inputs:(i+1)*inputs], &bias[i])
		}
		mapped[k].Data, mapped[k+1].Data = weight, bias
	}
	if err := mapped.Check(a); err != nil {
		return nil, fmt.Errorf("%w (after the normalization was folded or undone)", err)
	}
	return mapped, nil
}
