package predictor

import (
	"fmt"
	"maps"
	"slices"

	"ppal/datasets/tabular"
	"ppal/trainer/session/results"
)

// ONNXOptions are the options for an ONNX file.
type ONNXOptions struct {
	// IgnoreUnknown sets all indicators of an unknown category to 0. By default, ONNX Runtime
	// refuses unknown categories.
	IgnoreUnknown bool
	// Version is the version of the program, which the file states.
	Version string
}

// The names of the graph's outputs.
const (
	onnxScore       = "score"
	onnxScores      = "scores"
	onnxDecision    = "decision"
	onnxClass       = "class"
	onnxProbability = "probability"
	// the probability of each class
	onnxProbabilities = "probabilities"
)

// ONNX returns an ONNX file with the model and the preparation of its rows, in double precision.
// The inputs of the graph are
//
//	text      one for each column, by its name, [rows, 1]: doubles, NaN for a missing number, or
//	          strings, one of the texts of missing values for a missing category; a part of a date
//	          is a number with the name "COLUMN PART"
//	libsvm    "x" [rows, indices], doubles
//	pictures  "pixels" [rows, channels, height, width], bytes
//	matrix    "x" [rows, features], doubles
//
// With two classes the outputs are "score" and "decision" (the label's value), and "probability" if
// the run fitted probabilities. With more classes they are "scores" [rows, classes], "class", and
// "probabilities" [rows, classes] if the run fitted probabilities. A model that ranks documents has
// the output "score" alone.
//
// The error wraps models.ErrSpec if the model is of a kind that has no form in ONNX.
func (m *Model) ONNX(o ONNXOptions) ([]byte, error) {
	g := &onnxGraph{onnxEncoder: onnxEncoder{Name: "ppal", Producer: "ppal", Version: o.Version,
		Doc: fmt.Sprintf("%s, trained by ppal for the task %s", m.description.Kind, m.description.Task)}}
	var x string
	in := m.description.Input
	switch in.Format {
	case results.FormatText:
		x = g.columns(m.preparation, o)
	case results.FormatLIBSVM:
		x = g.numbers(m.preparation)
	case results.FormatPictures, results.FormatPictureFiles:
		x = g.pictures(in)
	default:
		x = "x"
		g.Input(x, onnxDouble, onnxRows, onnxSize(in.Features))
	}
	scores, err := m.model.ONNX(modelGraph{g}, x)
	if err != nil {
		return nil, err
	}
	g.decide(m, scores)
	return g.Encode(), nil
}

// onnxGraph adds the parts of a model to a graph. The names of values inside the graph begin with a
// slash, so that they differ from the names of columns.
type onnxGraph struct {
	onnxEncoder
	values int
}

// value returns a new name.
func (g *onnxGraph) value() string {
	g.values++
	return fmt.Sprintf("/%d", g.values)
}

// apply adds a node with one of ONNX's own operators and one output, and returns the output's name.
func (g *onnxGraph) apply(op string, inputs []string, attributes ...onnxAttribute) string {
	out := g.value()
	g.Node(op, "", inputs, []string{out}, attributes...)
	return out
}

// doubles adds a constant.
func (g *onnxGraph) doubles(data []float64, shape ...int) string {
	name := g.value()
	g.Doubles(name, data, shape...)
	return name
}

// cast converts the elements.
func (g *onnxGraph) cast(x string, to onnxType) string {
	return g.apply("Cast", []string{x}, onnxAttribute{Name: "to", Value: int64(to)})
}

// flat returns the elements in one dimension.
func (g *onnxGraph) flat(x string) string {
	shape := g.value()
	g.Ints(shape, []int64{-1}, 1)
	return g.apply("Reshape", []string{x, shape})
}

// columns adds an input for each column, and the features of all columns.
func (g *onnxGraph) columns(p *tabular.Preparation, o ONNXOptions) string {
	var features []string
	for i := range p.Encodings {
		e := &p.Encodings[i]
		if len(e.Categories) == 0 {
			features = append(features, g.number(e, title(p, i))...)
		} else {
			features = append(features, g.category(e, p.Absent, o))
		}
	}
	return g.apply("Concat", features, onnxAttribute{Name: "axis", Value: int64(1)})
}

// title returns the name of the first feature of a number: the column, or the column and a part of
// its dates.
func title(p *tabular.Preparation, i int) string {
	one := tabular.Preparation{Encodings: p.Encodings[i : i+1]}
	return one.Columns()[0]
}

// number adds the features of a number: (x - center)/scale, and the flag of a missing value.
func (g *onnxGraph) number(e *tabular.Encoding, name string) []string {
	g.Input(name, onnxDouble, onnxRows, onnxSize(1))
	centered := g.apply("Sub", []string{name, g.doubles([]float64{e.Center}, 1)})
	x := g.apply("Div", []string{centered, g.doubles([]float64{e.Scale}, 1)})
	if !e.Missing {
		return []string{x}
	}
	missing := g.apply("IsNaN", []string{name})
	known := g.apply("Where", []string{missing, g.doubles([]float64{0}, 1), x})
	return []string{known, g.cast(missing, onnxDouble)}
}

// category adds the indicators of a category: the one-hot vector of all texts times a matrix that
// selects the levels, and the flag of missing values.
func (g *onnxGraph) category(e *tabular.Encoding, absent []string, o ONNXOptions) string {
	g.Input(e.Column, onnxString, onnxRows, onnxSize(1))
	texts, levels := slices.Clone(e.Categories), e.Levels
	if len(levels) == 0 {
		levels = e.Categories
	}
	width := len(levels)
	if e.Missing {
		width++
		for _, text := range absent {
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	selection := make([]float64, len(texts)*width)
	for k, text := range texts {
		feature := slices.Index(levels, text)
		if e.Missing && slices.Contains(absent, text) {
			feature = width - 1
		}
		if feature >= 0 {
			selection[k*width+feature] = 1
		}
	}
	zeros := int64(0)
	if o.IgnoreUnknown {
		zeros = 1
	}
	hot := g.value()
	g.Node("OneHotEncoder", onnxML, []string{g.flat(e.Column)}, []string{hot},
		onnxAttribute{Name: "cats_strings", Value: texts}, onnxAttribute{Name: "zeros", Value: zeros})
	return g.apply("MatMul", []string{g.cast(hot, onnxDouble), g.doubles(selection, len(texts), width)})
}

// numbers adds the input of LIBSVM's features and selects the model's features.
func (g *onnxGraph) numbers(p *tabular.Preparation) string {
	g.Input("x", onnxDouble, onnxRows, onnxSize(p.Indices))
	if len(p.Numbers) == p.Indices {
		return g.singly("x", p)
	}
	columns := make([]int64, len(p.Numbers))
	for k, n := range p.Numbers {
		columns[k] = int64(n - 1)
	}
	list := g.value()
	g.Ints(list, columns, len(columns))
	return g.singly(g.apply("Gather", []string{"x", list}, onnxAttribute{Name: "axis", Value: int64(1)}), p)
}

// singly adds what Preparation.Singly does.
func (g *onnxGraph) singly(x string, p *tabular.Preparation) string {
	if len(p.Centers) == 0 {
		return x
	}
	rounded := func(x string) string { return g.cast(g.cast(x, onnxFloat), onnxDouble) }
	centered := g.apply("Sub", []string{rounded(x), g.doubles(p.Centers, 1, len(p.Centers))})
	return rounded(g.apply("Div", []string{centered, g.doubles(p.Scales, 1, len(p.Scales))}))
}

// pictures adds the input of bytes and returns the features.
func (g *onnxGraph) pictures(in results.Input) string {
	shape := []onnxDim{onnxRows, onnxSize(in.Features)}
	if len(in.Shape) > 0 {
		shape = shape[:1]
		for _, n := range in.Shape {
			shape = append(shape, onnxSize(n))
		}
	}
	g.Input("pixels", onnxUint8, shape...)
	bytes := g.apply("Flatten", []string{"pixels"}, onnxAttribute{Name: "axis", Value: int64(1)})
	return g.apply("Mul", []string{g.cast(bytes, onnxDouble), g.doubles([]float64{in.Scale}, 1)})
}

// modelGraph is the graph as an architecture sees it.
type modelGraph struct{ *onnxGraph }

// Apply implements models.ONNXGraph.
func (g modelGraph) Apply(op string, inputs []string, attributes map[string]any) string {
	var list []onnxAttribute
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[name]
		if n, ok := value.(int); ok {
			value = int64(n)
		}
		list = append(list, onnxAttribute{Name: name, Value: value})
	}
	return g.apply(op, inputs, list...)
}

// Doubles implements models.ONNXGraph.
func (g modelGraph) Doubles(data []float64, shape ...int) string { return g.doubles(data, shape...) }

// Ints implements models.ONNXGraph.
func (g modelGraph) Ints(data []int64, shape ...int) string {
	name := g.value()
	g.onnxGraph.Ints(name, data, shape...)
	return name
}

// decide adds the outputs of the graph.
func (g *onnxGraph) decide(m *Model, scores string) {
	classes := m.Classes()
	keys := make([]int64, len(classes))
	for k := range keys {
		keys[k] = int64(k)
	}
	label := func(class, output string) {
		g.Node("LabelEncoder", onnxML, []string{class}, []string{output},
			onnxAttribute{Name: "keys_int64s", Value: keys}, onnxAttribute{Name: "values_strings", Value: classes})
		g.Output(output, onnxString, onnxRows)
	}
	if m.Outputs() > 1 {
		g.Node("Identity", "", []string{scores}, []string{onnxScores})
		g.Output(onnxScores, onnxDouble, onnxRows, onnxSize(m.Outputs()))
		label(g.apply("ArgMax", []string{scores}, onnxAttribute{Name: "axis", Value: int64(1)}, onnxAttribute{Name: "keepdims", Value: int64(0)}), onnxClass)
		if s := m.description.Decision.Probabilities; s != nil {
			z := g.apply("Mul", []string{scores, g.doubles([]float64{s.Slope}, 1)})
			z = g.apply("Add", []string{z, g.doubles(s.Intercepts, len(s.Intercepts))})
			g.Node("Softmax", "", []string{z}, []string{onnxProbabilities}, onnxAttribute{Name: "axis", Value: int64(1)})
			g.Output(onnxProbabilities, onnxDouble, onnxRows, onnxSize(m.Outputs()))
		}
		return
	}
	score := g.flat(scores)
	g.Node("Identity", "", []string{score}, []string{onnxScore})
	g.Output(onnxScore, onnxDouble, onnxRows)
	if m.Ranks() {
		return
	}
	label(g.cast(g.apply("Greater", []string{score, g.doubles([]float64{0}, 1)}), onnxInt64), onnxDecision)
	if s := m.description.Decision.Probability; s != nil {
		z := g.apply("Mul", []string{score, g.doubles([]float64{s.Slope}, 1)})
		z = g.apply("Add", []string{z, g.doubles([]float64{s.Intercept}, 1)})
		g.Node("Sigmoid", "", []string{z}, []string{onnxProbability})
		g.Output(onnxProbability, onnxDouble, onnxRows)
	}
}
