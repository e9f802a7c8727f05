package models

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Picture is the shape of a picture, whose row has the pixels channel by channel, and in a channel
// line by line.
type Picture struct {
	Channels int `json:"channels"`
	Height   int `json:"height"`
	Width    int `json:"width"`
}

// Pixels returns the number of pixels in all channels.
func (p Picture) Pixels() int { return p.Channels * p.Height * p.Width }

// String returns text such as "28x28" or "32x32x3".
func (p Picture) String() string {
	if p.Channels == 1 {
		return fmt.Sprintf("%dx%d", p.Height, p.Width)
	}
	return fmt.Sprintf("%dx%dx%d", p.Height, p.Width, p.Channels)
}

// OfPictures is an [Architecture] of pictures. A session tells the shape of its pictures before it
// calls Sized.
type OfPictures interface {
	Architecture
	// On returns the architecture for pictures of the shape.
	On(p Picture) Architecture
}

// Pool names what a block takes of 2 x 2 pixels.
type Pool string

// The kinds of pooling. The empty string means MaxPool.
const (
	MaxPool     Pool = "max"
	AveragePool Pool = "average"
	NoPool      Pool = "none"
)

// Norm names the normalization after a convolution.
type Norm string

// The kinds of normalization. The empty string means NoNorm.
const (
	NoNorm    Norm = "none"
	GroupNorm Norm = "group" // GroupNormalize with gcd(channels, 8) groups
)

// The geometry of the layers.
const (
	filterSide = 3
	poolSide   = 2
)

// layers are the layers from which the networks of this package for pictures are composed. V is the
// value that flows from layer to layer: a shape, a node, numbers, or the name of a value in ONNX. A
// network calls the same methods in the same order for every V, and each layer takes the next
// parameters.
type layers[V any] interface {
	// convolve is the cross-correlation with filters of side x side pixels, padded by (side-1)/2,
	// in steps of stride (torch.nn.Conv2d), with a bias for each filter if bias.
	convolve(a V, name string, filters, side, stride int, bias bool) V
	normalize(a V, name string) V
	activate(a V, f Activation) V
	// pool takes the largest or the mean of each height x width pixels, in steps of as many.
	pool(a V, kind Pool, height, width int) V
	add(a, b V) V
}

// convolved returns the shape of a convolution's output.
func (p Picture) convolved(filters, side, stride int) Picture {
	size := func(n int) int { return (n+2*(side/2)-side)/stride + 1 }
	return Picture{filters, size(p.Height), size(p.Width)}
}

// pooled returns the shape after pooling. An odd last line or column is left out.
func (p Picture) pooled(height, width int) Picture {
	return Picture{p.Channels, p.Height / height, p.Width / width}
}

// tracer implements layers for shapes. It lists the parameters.
type tracer struct{ parameters []Parameter }

// reluGain is the gain of filters before relu: the variance of a layer's outputs is about that of
// its inputs (He and others, 2015).
var reluGain = math.Sqrt(6)

func (t *tracer) convolve(p Picture, name string, filters, side, stride int, bias bool) Picture {
	to, patch := p.convolved(filters, side, stride), p.Channels*side*side
	t.parameters = append(t.parameters, Parameter{Name: name + ".weight", Shape: []int{filters, p.Channels, side, side}, FanIn: patch, Gain: reluGain})
	if bias {
		t.parameters = append(t.parameters, Parameter{Name: name + ".bias", Shape: []int{filters}})
	}
	return to
}

func (t *tracer) normalize(p Picture, name string) Picture {
	t.parameters = append(t.parameters,
		Parameter{Name: name + ".weight", Shape: []int{p.Channels}, Start: 1}, Parameter{Name: name + ".bias", Shape: []int{p.Channels}})
	return p
}

func (t *tracer) activate(p Picture, _ Activation) Picture { return p }

func (t *tracer) pool(p Picture, _ Pool, height, width int) Picture { return p.pooled(height, width) }

func (t *tracer) add(p, _ Picture) Picture { return p }

// checkPictures returns an error that wraps ErrSpec if rows of so many features are not pictures,
// or if channels or activation are not valid.
func checkPictures(what string, p Picture, inputs int, channels []int, f Activation) error {
	if min(p.Channels, p.Height, p.Width) < 1 || p.Pixels() != inputs {
		return fmt.Errorf("models: %w: %s needs pictures, and the rows have %d features without the shape of a picture", ErrSpec, what, inputs)
	}
	if len(channels) == 0 {
		return fmt.Errorf("models: %w: %s needs channels, such as 16,32", ErrSpec, what)
	}
	for i, n := range channels {
		if n < 1 || n > math.MaxInt16 {
			return fmt.Errorf("models: %w: %s has %d channels in block %d, expected 1 to %d", ErrSpec, what, n, i+1, math.MaxInt16)
		}
	}
	if !slices.Contains(activations, f) {
		return fmt.Errorf("models: %w: %s has the unknown activation %q, use %s", ErrSpec, what, f, activationNames)
	}
	return nil
}

// dashed returns text such as "16-32".
func dashed(numbers []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", "-"), "[]")
}

// outputsOf lists the parameters of the dense network after the pictures: the last are
// output.weight and output.bias.
func outputsOf(dense Spec) (list []Parameter) {
	for _, p := range dense.Parameters() {
		p.FirstLayer, p.Name = false, strings.Replace(p.Name, "linear", "output", 1)
		list = append(list, p)
	}
	return list
}
