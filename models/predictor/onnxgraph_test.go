package predictor_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"google.golang.org/protobuf/encoding/protowire"

	"ppal/internal/require"
)

// proto is a decoded protobuf message: the values of each field, numbers or bytes.
type proto struct {
	t       *testing.T
	numbers map[int][]int64
	content map[int][][]byte
}

func parse(t *testing.T, b []byte) proto {
	t.Helper()
	p := proto{t, map[int][]int64{}, map[int][][]byte{}}
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		switch kind {
		case protowire.VarintType:
			var v uint64
			v, n = protowire.ConsumeVarint(b)
			p.numbers[int(field)] = append(p.numbers[int(field)], int64(v))
		case protowire.BytesType:
			var v []byte
			v, n = protowire.ConsumeBytes(b)
			p.content[int(field)] = append(p.content[int(field)], v)
		default:
			t.Fatalf("field %d has wire type %d", field, kind)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
	}
	return p
}

func (p proto) text(field int) string {
	if len(p.content[field]) == 0 {
		return ""
	}
	return string(p.content[field][0])
}

func (p proto) texts(field int) (list []string) {
	for _, b := range p.content[field] {
		list = append(list, string(b))
	}
	return list
}

func (p proto) messages(field int) (list []proto) {
	for _, b := range p.content[field] {
		list = append(list, parse(p.t, b))
	}
	return list
}

// value is a tensor of doubles (also for whole numbers) or of strings.
type value struct {
	shape []int
	x     []float64
	s     []string
}

// run interprets a model for the given inputs. It implements the operators that predictor.ONNX
// uses, by their ONNX definitions.
func run(t *testing.T, file []byte, values map[string]value) map[string]value {
	t.Helper()
	model := parse(t, file)
	graph := model.messages(7)[0]
	for _, c := range graph.messages(5) {
		v := value{}
		for _, d := range c.numbers[1] {
			v.shape = append(v.shape, int(d))
		}
		raw := c.content[9][0]
		for ; len(raw) > 0; raw = raw[8:] {
			bits := binary.LittleEndian.Uint64(raw)
			if c.numbers[2][0] == 11 {
				v.x = append(v.x, math.Float64frombits(bits))
			} else {
				v.x = append(v.x, float64(int64(bits)))
			}
		}
		values[c.text(8)] = v
	}
	for _, in := range graph.messages(11) {
		if _, ok := values[in.text(1)]; !ok {
			t.Fatalf("the input %q is not given", in.text(1))
		}
	}
	for _, n := range graph.messages(1) {
		var in []value
		for _, name := range n.texts(1) {
			v, ok := values[name]
			if !ok {
				t.Fatalf("%s uses %q before it is computed", n.text(4), name)
			}
			in = append(in, v)
		}
		attributes := map[string]proto{}
		for _, a := range n.messages(5) {
			attributes[a.text(1)] = a
		}
		out := require.Value(apply(n.text(7)+n.text(4), in, attributes))(t)
		values[n.texts(2)[0]] = out
	}
	outputs := map[string]value{}
	for _, out := range graph.messages(12) {
		outputs[out.text(1)] = values[out.text(1)]
	}
	return outputs
}

// each applies f to pairs of elements. The second operand may have a single element, or one for
// each channel of pictures.
func each(a, b value, f func(x, y float64) float64) value {
	out, repeat := value{shape: a.shape, x: make([]float64, len(a.x))}, 1
	if len(b.shape) == 4 && b.shape[2]*b.shape[3] == 1 {
		repeat = a.shape[2] * a.shape[3]
	}
	for i, x := range a.x {
		out.x[i] = f(x, b.x[i/repeat%len(b.x)])
	}
	return out
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// overPictures computes channels of pictures, whose sides are divided by step. at returns a pixel
// of the picture, 0 outside.
func overPictures(a value, channels, step int, f func(k, y, x int, at func(c, y, x int) float64) float64) value {
	h, w := a.shape[2], a.shape[3]
	out := value{shape: []int{a.shape[0], channels, h / step, w / step}}
	for n := range a.shape[0] {
		at := func(c, y, x int) float64 {
			if y < 0 || y >= h || x < 0 || x >= w {
				return 0
			}
			return a.x[((n*a.shape[1]+c)*h+y)*w+x]
		}
		for k := range channels {
			for y := range h / step {
				for x := range w / step {
					out.x = append(out.x, f(k, y, x, at))
				}
			}
		}
	}
	return out
}

func apply(op string, in []value, attributes map[string]proto) (value, error) {
	a := in[0]
	one := value{x: []float64{0}}
	switch op {
	case "Sub":
		return each(a, in[1], func(x, y float64) float64 { return x - y }), nil
	case "Add":
		return each(a, in[1], func(x, y float64) float64 { return x + y }), nil
	case "Mul":
		return each(a, in[1], func(x, y float64) float64 { return x * y }), nil
	case "Div":
		return each(a, in[1], func(x, y float64) float64 { return x / y }), nil
	case "Greater":
		return each(a, in[1], func(x, y float64) float64 { return indicator(x > y) }), nil
	case "IsNaN":
		return each(a, one, func(x, _ float64) float64 { return indicator(math.IsNaN(x)) }), nil
	case "Softmax":
		width := a.shape[len(a.shape)-1]
		out := value{shape: a.shape, x: make([]float64, len(a.x))}
		for i := range out.x {
			sum := 0.0
			for _, z := range a.x[i/width*width:][:width] {
				sum += math.Exp(z - a.x[i])
			}
			out.x[i] = 1 / sum
		}
		return out, nil
	case "Sigmoid":
		return each(a, one, func(x, _ float64) float64 { return 1 / (1 + math.Exp(-x)) }), nil
	case "Softplus":
		return each(a, one, func(x, _ float64) float64 { return math.Log(1 + math.Exp(x)) }), nil
	case "Max":
		return each(a, in[1], math.Max), nil
	case "Relu":
		return each(a, one, func(x, _ float64) float64 { return max(0, x) }), nil
	case "Tanh":
		return each(a, one, func(x, _ float64) float64 { return math.Tanh(x) }), nil
	case "Where":
		out := value{shape: in[2].shape, x: slices.Clone(in[2].x)}
		for i, c := range a.x {
			if c != 0 {
				out.x[i] = in[1].x[0]
			}
		}
		return out, nil
	case "Cast", "Identity":
		return a, nil
	case "Reshape":
		out, rest := value{x: a.x, s: a.s}, max(len(a.x), len(a.s))
		for _, n := range in[1].x {
			out.shape = append(out.shape, int(n))
			rest /= max(1, int(n))
		}
		if i := slices.Index(out.shape, -1); i >= 0 {
			out.shape[i] = rest
		}
		return out, nil
	case "Conv":
		side, step, pad := in[1].shape[2], int(attributes["strides"].numbers[8][0]), int(attributes["pads"].numbers[8][0])
		return overPictures(a, in[1].shape[0], step, func(k, y, x int, at func(c, y, x int) float64) float64 {
			sum := 0.0
			if len(in) > 2 {
				sum = in[2].x[k]
			}
			for j, w := range in[1].x[k*len(in[1].x)/in[1].shape[0] : (k+1)*len(in[1].x)/in[1].shape[0]] {
				sum += w * at(j/side/side, y*step+j/side%side-pad, x*step+j%side-pad)
			}
			return sum
		}), nil
	case "InstanceNormalization":
		out, size := value{shape: a.shape, x: slices.Clone(a.x)}, a.shape[2]
		for from := 0; from < len(out.x); from += size {
			mean, deviation := stat.PopMeanStdDev(a.x[from:from+size], nil)
			for i := range size {
				out.x[from+i] = (a.x[from+i]-mean)/math.Sqrt(deviation*deviation+1e-5)*in[1].x[0] + in[2].x[0]
			}
		}
		return out, nil
	case "AveragePool": // of the whole picture
		return overPictures(a, a.shape[1], a.shape[2], func(k, _, _ int, at func(c, y, x int) float64) float64 {
			sum := 0.0
			for i := range a.shape[2] * a.shape[3] {
				sum += at(k, i/a.shape[3], i%a.shape[3])
			}
			return sum / float64(a.shape[2]*a.shape[3])
		}), nil
	case "MaxPool": // 2 x 2 in steps of 2
		return overPictures(a, a.shape[1], 2, func(k, y, x int, at func(c, y, x int) float64) float64 {
			return max(at(k, 2*y, 2*x), at(k, 2*y, 2*x+1), at(k, 2*y+1, 2*x), at(k, 2*y+1, 2*x+1))
		}), nil
	case "Flatten":
		return value{[]int{a.shape[0], len(a.x) / a.shape[0]}, a.x, nil}, nil
	case "Concat":
		rows, width := a.shape[0], 0
		for _, v := range in {
			width += v.shape[1]
		}
		out := value{shape: []int{rows, width}}
		for i := range rows {
			for _, v := range in {
				out.x = append(out.x, v.x[i*v.shape[1]:(i+1)*v.shape[1]]...)
			}
		}
		return out, nil
	case "Gather":
		out := value{shape: []int{a.shape[0], len(in[1].x)}}
		for i := range a.shape[0] {
			for _, j := range in[1].x {
				out.x = append(out.x, a.x[i*a.shape[1]+int(j)])
			}
		}
		return out, nil
	case "MatMul", "Gemm":
		b, inner := in[1], a.shape[1]
		at := func(k, j int) float64 { return b.x[k*b.shape[1]+j] }
		cols, bias := b.shape[1], value{x: []float64{0}}
		if op == "Gemm" { // attribute transB: multiply by the transposed matrix
			at, cols, bias = func(k, j int) float64 { return b.x[j*b.shape[1]+k] }, b.shape[0], in[2]
		}
		out := value{shape: []int{a.shape[0], cols}}
		for i := range a.shape[0] {
			for j := range cols {
				sum := bias.x[j%len(bias.x)]
				for k := range inner {
					sum += a.x[i*inner+k] * at(k, j)
				}
				out.x = append(out.x, sum)
			}
		}
		return out, nil
	case "ArgMax":
		out := value{shape: a.shape[:1]}
		for i := range a.shape[0] {
			row := a.x[i*a.shape[1]:][:a.shape[1]]
			out.x = append(out.x, float64(slices.Index(row, slices.Max(row))))
		}
		return out, nil
	case "ai.onnx.mlOneHotEncoder":
		texts := attributes["cats_strings"].texts(9)
		out := value{shape: []int{len(a.s), len(texts)}, x: make([]float64, len(a.s)*len(texts))}
		for i, s := range a.s {
			k := slices.Index(texts, s)
			if k >= 0 {
				out.x[i*len(texts)+k] = 1
			} else if attributes["zeros"].numbers[3][0] == 0 {
				return out, fmt.Errorf("unknown category %q", s)
			}
		}
		return out, nil
	case "ai.onnx.mlLabelEncoder":
		out := value{shape: a.shape}
		for _, x := range a.x {
			out.s = append(out.s, attributes["values_strings"].texts(9)[slices.Index(attributes["keys_int64s"].numbers[8], int64(x))])
		}
		return out, nil
	}
	return value{}, fmt.Errorf("unknown operator %s", op)
}
