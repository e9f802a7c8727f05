package models

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"gorgonia.org/gorgonia"
)

// Architecture describes a model: the scores f(x) in R^C of a row x in R^d as a function of
// parameters. [Spec] is the architecture of linear models and networks; a program implements
// Architecture for a model of its own.
//
// The fields of the value, encoded by package encoding/json, are the description in a model's file.
// [Register] lets [Load] read the description. A value must not change, and several goroutines may
// use the value.
type Architecture interface {
	// Kind names the kind of the model in files, such as "network".
	Kind() string
	// Dims returns the number of features d of a row and the number of scores C.
	Dims() (inputs, outputs int)
	// Sized returns the architecture for rows of the given numbers of features and scores, with all
	// defaults filled in. Errors wrap [ErrSpec].
	Sized(inputs, outputs int) (Architecture, error)
	// Parameters lists the parameters in the order of the weights, at most MaxTensors.
	Parameters() []Parameter
	// Scores adds the scores, a node [n, C], of the rows x [n, d] to the graph of the parameters'
	// nodes, which have the order of Parameters and the shapes that [Network] describes.
	Scores(x *gorgonia.Node, parameters gorgonia.Nodes) (*gorgonia.Node, error)
}

// HostPredictor is an [Architecture] that computes scores without Gorgonia. [Predict] uses the
// machine of Gorgonia for architectures without this method.
type HostPredictor interface {
	Architecture
	// PredictRows writes the scores [n, C] of the rows [n, d], both row by row.
	PredictRows(scores, rows []float64, weights Weights)
}

// Kinked is an [Architecture] that reports whether its scores have kinks, as relu causes. If the
// scores have no kinks, quasi-Newton steps may use the second moments of the features.
type Kinked interface {
	Architecture
	Kinks() bool
}

// ONNXGraph is the ONNX graph to which a model adds its nodes. Values have names.
type ONNXGraph interface {
	// Apply adds a node with one of ONNX's own operators of version 17 and one output, and returns
	// the output's name. An attribute is an int, an int64, a []int64, or a []string.
	Apply(op string, inputs []string, attributes map[string]any) string
	// Doubles adds a constant of doubles, and Ints a constant of 64-bit integers. Both return the
	// constant's name.
	Doubles(data []float64, shape ...int) string
	Ints(data []int64, shape ...int) string
}

// Exporter is an [Architecture] that can be written in ONNX's format.
type Exporter interface {
	Architecture
	// ONNX adds the model to the graph and returns the name of the scores, doubles [n, C]. x names
	// the rows, doubles [n, d].
	ONNX(g ONNXGraph, weights Weights, x string) (scores string, err error)
}

// Parameter is the name of a parameter and its shape in PyTorch's layout: [outputs, inputs] for a
// layer's weight, [outputs] for its bias.
type Parameter struct {
	Name  string
	Shape []int
	// FanIn decides the initial values: they are uniform in [-b, b) with b = Gain/sqrt(FanIn). 0 means
	// that all values begin at Start. Gain 0 means 1.
	FanIn int
	Gain  float64
	// Start is the initial value of all numbers if FanIn is 0.
	Start float64
	// FirstLayer marks a weight [h, d] that multiplies the row, W x. The next parameter is its bias
	// [h]. If an architecture has such weights, the row occurs in no other place: the center and the
	// scale of the rows then go into these parameters. Otherwise they are a layer of their own.
	FirstLayer bool
	// ScoreBias marks a bias that is added to the scores. The biases of all scores follow each other
	// in the order of the scores. Bounds on decisions need them.
	ScoreBias bool
}

// MaxTensors is the largest number of parameters that a model may have.
const MaxTensors = 1 << 16

// kinds are the kinds of models that Load knows.
var kinds = struct {
	sync.RWMutex
	decode map[string]func(description []byte) (Architecture, error)
}{decode: map[string]func([]byte) (Architecture, error){KindConv: decodeAs[Conv], KindResNet: decodeAs[ResNet], KindScores: decodeAs[Scores]}}

// Register lets [Load] read models whose architecture has the type A and the given kind. A program
// calls Register once for each kind of its own, before it loads a model. Register panics if the
// kind is known already.
func Register[A Architecture](kind string) {
	kinds.Lock()
	defer kinds.Unlock()
	if _, known := kinds.decode[kind]; known || kind == "" || builtIn(kind) {
		panic(fmt.Sprintf("models: Register: the kind %q is registered already, or reserved", kind))
	}
	kinds.decode[kind] = decodeAs[A]
}

// decodeAs reads the description of an architecture of type A.
func decodeAs[A Architecture](description []byte) (Architecture, error) {
	var a A
	return a, decode(string(description), &a)
}

// builtIn reports whether the kind is one of a [Spec].
func builtIn(kind string) bool { return kind == KindLinear || kind == KindNetwork }

// decodeArchitecture returns the architecture of a file. A file without a kind has a Spec.
func decodeArchitecture(kind, description string) (Architecture, error) {
	if kind == "" {
		var s Spec
		return s, decode(description, &s)
	}
	kinds.RLock()
	defer kinds.RUnlock()
	read, known := kinds.decode[kind]
	if !known {
		list := slices.Sorted(maps.Keys(kinds.decode))
		return nil, fmt.Errorf("the model is of the kind %q, which this program does not know (it knows %s): "+
			"use the program that trained the model, which registers the kind with models.Register",
			kind, strings.Join(append([]string{KindLinear, KindNetwork}, list...), ", "))
	}
	return read([]byte(description))
}

// completed returns a with its defaults filled in, and an error that wraps ErrSpec if a or its
// list of parameters is not valid.
func completed(a Architecture) (Architecture, error) {
	if a == nil {
		return nil, fmt.Errorf("models: %w: there is no architecture", ErrSpec)
	}
	inputs, outputs := a.Dims()
	return Sized(a, inputs, outputs)
}

// Sized calls the method Sized of an architecture and checks what it returns. The error wraps
// [ErrSpec].
func Sized(a Architecture, inputs, outputs int) (Architecture, error) {
	b, err := a.Sized(inputs, outputs)
	if err != nil {
		return nil, err
	}
	return b, checkParameters(b)
}

// checkParameters returns an error if the list of parameters is not valid.
func checkParameters(a Architecture) error {
	if _, ours := a.(Spec); ours {
		return nil // Validate has checked it
	}
	inputs, outputs := a.Dims()
	list := a.Parameters()
	fail := func(format string, args ...any) error {
		return fmt.Errorf("models: %w: the kind %s: %s", ErrSpec, a.Kind(), fmt.Sprintf(format, args...))
	}
	if len(list) == 0 || len(list) > MaxTensors {
		return fail("%d parameters, expected 1 to %d", len(list), MaxTensors)
	}
	names, biases, left := map[string]bool{}, 0, int64(MaxParameters)
	for i, p := range list {
		if p.Name == "" || names[p.Name] || len(p.Shape) == 0 {
			return fail("parameter %d, %q of shape %v: names must differ, and a shape needs a dimension", i, p.Name, p.Shape)
		}
		names[p.Name] = true
		numbers := int64(1)
		for _, d := range p.Shape {
			if d < 1 || numbers*int64(d) > MaxParameters {
				return fail("parameter %s has shape %v", p.Name, p.Shape)
			}
			numbers *= int64(d)
		}
		if left -= numbers; left < 0 {
			return fail("more than %d parameters", MaxParameters)
		}
		if p.FirstLayer && (len(p.Shape) != 2 || p.Shape[1] != inputs || i+1 == len(list) || !slices.Equal(list[i+1].Shape, p.Shape[:1])) {
			return fail("parameter %s of shape %v: a weight of the first layer is [h, %d], and its bias [h] follows", p.Name, p.Shape, inputs)
		}
		if p.ScoreBias {
			biases += size(p.Shape)
		}
	}
	if biases != 0 && biases != outputs {
		return fail("%d biases of scores for %d scores", biases, outputs)
	}
	return nil
}

// firstLayers returns the indices of the weights that multiply the row.
func firstLayers(a Architecture) (list []int) {
	for i, p := range a.Parameters() {
		if p.FirstLayer {
			list = append(list, i)
		}
	}
	return list
}

// IsLinear reports whether the model is linear: one weight and one bias.
func IsLinear(a Architecture) bool {
	p := a.Parameters()
	return len(p) == 2 && p[0].FirstLayer && p[1].ScoreBias
}

// BeginsWithLayer reports whether the only first layer has the first parameters, as in a network
// with shared heads.
func BeginsWithLayer(a Architecture) bool { return slices.Equal(firstLayers(a), []int{0}) }

// FirstUnits returns the number of units to which a row is multiplied, of all heads; 0 without a
// first layer.
func FirstUnits(a Architecture) (units int) {
	for _, p := range a.Parameters() {
		if p.FirstLayer {
			units += p.Shape[0]
		}
	}
	return units
}

// Equal reports whether both describe the same model, after filling in defaults.
func Equal(a, b Architecture) bool {
	_, ofA := settings(a)
	_, ofB := settings(b)
	return a.Kind() == b.Kind() && reflect.DeepEqual(ofA, ofB)
}

// description returns the JSON of the architecture, with defaults filled in.
func description(a Architecture) []byte {
	if whole, err := completed(a); err == nil {
		a = whole
	}
	text, err := json.Marshal(a)
	if err != nil {
		return []byte(err.Error())
	}
	return text
}
