package plan

import (
	"reflect"
	"slices"

	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

// recognizePictures finds convolutions, max-pooling and their derivatives, which Gorgonia writes
// with several ops:
//
//	transpose(im2col(X) F^T)     Conv2d             -> Convolution
//	D^T im2col(X), col2im(D F)   its derivatives    -> ConvolutionFilterGrad, ConvolutionInputGrad
//	MaxPool, MaxPoolDiff         MaxPool2D          -> MaxPool, MaxPoolGrad
//	repeats of b [1, C, 1, 1]    BroadcastAdd       -> a row that is added to every picture
//	sums over all axes but C     its derivative     -> sums of columns, then of each channel
//
// Then pictures are the rows of their matrices, so that steps between convolutions are row-wise.
func (g *dag) recognizePictures() {
	all := g.all()
	slices.Reverse(all) // a chain of repeats or sums ends with the op that is recognized
	for _, v := range all {
		switch v.gorgonia() {
		case "transposeOp":
			v.recognizeConvolution()
		case "col2imOp":
			v.recognizeInputGrad()
		case "maxPoolOp", "maxPoolDiffOp":
			v.recognizePool()
		case "repeatOp":
			v.recognizeChannelBias()
		case "sumOp":
			v.recognizeChannelSums()
		}
		switch {
		case v.kind == productKind:
			v.recognizeFilterGrad()
		case v.kind == sumsKind && v.in[0].gorgonia() == "sumOp":
			v.recognizeChannelSums()
		case v.kind == reshapeKind && v.in[0].kind == sumsKind && v.in[0].in[0].gorgonia() == "sumOp":
			v.in[0].recognizeChannelSums()
		}
	}
}

// gorgonia returns the type's name of an opaque op of Gorgonia, else "".
func (v *value) gorgonia() string {
	if v.kind != opaqueKind {
		return ""
	}
	t := reflect.Indirect(reflect.ValueOf(v.node.Op())).Type()
	if t.PkgPath() != "gorgonia.org/gorgonia" {
		return ""
	}
	return t.Name()
}

// fields returns integer fields of v's op.
func (v *value) fields(names ...string) []int {
	op, list := reflect.Indirect(reflect.ValueOf(v.node.Op())), make([]int, len(names))
	for i, name := range names {
		list[i] = int(op.FieldByName(name).Int())
	}
	return list
}

// axes returns a field of v's op that lists axes.
func (v *value) axes(name string) []int {
	f := reflect.Indirect(reflect.ValueOf(v.node.Op())).FieldByName(name)
	list := make([]int, f.Len())
	for i := range list {
		list[i] = int(f.Index(i).Int())
	}
	return list
}

// unshaped returns the value whose elements v has in another shape.
func (v *value) unshaped() *value {
	for v.kind == reshapeKind {
		v = v.in[0]
	}
	return v
}

// transposes reports whether v is a transposition of four axes by the pattern.
func (v *value) transposes(pattern ...int) bool {
	if v.gorgonia() != "transposeOp" || len(v.shapes[0]) != len(pattern) {
		return false
	}
	return slices.Equal(v.axes("pattern"), pattern)
}

// window returns the window of an im2col or col2im for pictures [n, channels, height, width], and
// whether the window fits the output [n, lines, columns, patch].
func (v *value) window(pictures, output tensor.Shape) (Window, bool) {
	f := v.fields("h", "w", "padH", "padW", "strideH", "strideW", "dilationH", "dilationW")
	w := windowOver(f, pictures, output[1], output[2])
	return w, output[3] == w.Patch() && output[0] == pictures[0]
}

// windowOver returns the window with the given lines, columns, padding, strides and dilations for
// pictures [n, channels, height, width].
func windowOver(f []int, pictures tensor.Shape, outputHeight, outputWidth int) Window {
	return Window{Channels: pictures[1], Height: pictures[2], Width: pictures[3], Lines: f[0], Columns: f[1], Top: f[2], Left: f[3],
		StrideY: f[4], StrideX: f[5], DilationY: f[6], DilationX: f[7], OutputHeight: outputHeight, OutputWidth: outputWidth}
}

// recognizeConvolution makes v a convolution if v is transpose(reshape(im2col(X)) F^T).
func (v *value) recognizeConvolution() {
	if !v.transposes(0, 3, 1, 2) {
		return
	}
	p := v.in[0].unshaped()
	if p.kind != productKind || p.trans != [2]bool{false, true} {
		return
	}
	columns, filter := p.in[0].unshaped(), p.in[1]
	if columns.gorgonia() != "im2colOp" {
		return
	}
	output := columns.node.Shape()
	w, fits := columns.window(columns.shapes[0], output)
	if shape := v.shapes[0]; !fits || shape[0] != output[0] || shape[1] != output[1] || shape[2] != output[2] || filter.cols != w.Patch() || filter.rows != shape[3] {
		return
	}
	v.become(convolveKind, w, append(p.nodes, columns.nodes...), columns.in[0], filter)
}

// recognizeFilterGrad makes v a derivative by the filter if v is transpose(D)^T im2col(X).
func (v *value) recognizeFilterGrad() {
	if v.trans != [2]bool{true, false} {
		return
	}
	d, columns := v.in[0].unshaped(), v.in[1].unshaped()
	if columns.gorgonia() != "im2colOp" || !d.transposes(0, 2, 3, 1) {
		return
	}
	w, fits := columns.window(columns.shapes[0], columns.node.Shape())
	if shape := d.shapes[0]; !fits || shape[0] != columns.rows || shape[1] != v.rows || shape[2] != w.OutputHeight || shape[3] != w.OutputWidth || v.cols != w.Patch() {
		return
	}
	v.become(filterGrad, w, append(d.nodes, columns.nodes...), columns.in[0], d.in[0])
}

// recognizeInputGrad makes v a derivative by the pictures if v is col2im(transpose(D) F).
func (v *value) recognizeInputGrad() {
	p := v.in[0].unshaped()
	if p.kind != productKind || p.trans != [2]bool{} {
		return
	}
	d, filter := p.in[0].unshaped(), p.in[1]
	if !d.transposes(0, 2, 3, 1) {
		return
	}
	w, fits := v.window(v.fields("unpaddedB", "unpaddedC", "unpaddedH", "unpaddedW"), v.shapes[0])
	if shape := d.shapes[0]; !fits || shape[0] != v.rows || shape[1] != filter.rows || shape[2] != w.OutputHeight || shape[3] != w.OutputWidth || filter.cols != w.Patch() {
		return
	}
	v.become(inputGrad, w, append(p.nodes, d.nodes...), d.in[0], filter)
}

// recognizePool makes v, an op of gorgonia.MaxPool2D, describe.MaxPool or MaxPoolGrad. Gorgonia's
// op begins its windows by the padding below and right if all four are given.
func (v *value) recognizePool() {
	f := v.fields("h", "w", "padNorth", "padWest", "strideH", "strideW")
	if reflect.Indirect(reflect.ValueOf(v.node.Op())).FieldByName("explicitPadding").Bool() {
		copy(f[2:4], v.fields("padSouth", "padEast"))
	}
	s, output, derivative := v.shapes[0], v.node.Shape(), len(v.in) > 1
	if derivative { // of pictures, largest elements and D
		output = v.shapes[1]
	}
	w := windowOver(append(f, 1, 1), s, output[2], output[3])
	v.kind, v.description = poolKind, describe.MaxPool{Window: w}
	if derivative {
		v.kind, v.description, v.in = poolGrad, describe.MaxPoolGrad{Window: w}, []*value{v.in[0], v.in[2]}
	}
}

// become makes v a step with a window that also computes the given nodes.
func (v *value) become(k kind, w Window, more []int64, in ...*value) {
	v.kind, v.picture, v.in, v.trans = k, w, in, [2]bool{}
	v.nodes = append(v.nodes[:len(v.nodes):len(v.nodes)], more...)
}

// recognizeChannelBias makes v a broadcast of a row if v repeats [1, C, 1, 1] over pictures
// [n, C, H, W].
func (v *value) recognizeChannelBias() {
	base, shape, repeats := v, tensor.Shape(nil), 0
	for base.gorgonia() == "repeatOp" {
		base, shape, repeats = base.in[0], base.shapes[0], repeats+1
	}
	to := v.node.Shape()
	if len(shape) != 4 || len(to) != 4 || shape[0] != 1 || shape[2] != 1 || shape[3] != 1 || shape[1] != to[1] {
		return
	}
	places := to[2] * to[3]
	row := &value{kind: mapKind, op: describe.Identity, in: []*value{reshapeOf(base, to[1], 1)}, rows: to[1], cols: places, nodes: v.nodes}
	v.kind, v.op, v.in = mapKind, describe.Identity, []*value{reshapeOf(row, 1, v.cols)}
}

// recognizeChannelSums writes sums over all axes but the channels of pictures [n, C, H, W] as sums
// over the rows, which are row-wise, and then over a channel's columns.
func (v *value) recognizeChannelSums() {
	base, shape, left := v.summed()
	if len(shape) != 4 || len(left) != 1 || left[0] != 1 {
		return
	}
	columns := &value{kind: sumsKind, axis: OverRows, in: []*value{base}, rows: 1, cols: base.cols, nodes: v.nodes}
	sums := &value{kind: sumsKind, axis: OverColumns, in: []*value{reshapeOf(columns, shape[1], shape[2]*shape[3])}, rows: shape[1], cols: 1, nodes: v.nodes}
	v.kind, v.in = reshapeKind, []*value{sums}
}

// summed follows sums over single axes to the value that is summed. It returns that value, its
// shape, and the axes that are left, or no axes if the shapes do not fit.
func (v *value) summed() (base *value, shape tensor.Shape, left []int) {
	var along []int
	switch {
	case v.gorgonia() == "sumOp":
		along = v.axes("along")
	case v.kind == sumsKind && v.axis == OverRows:
		along = []int{0}
	case v.kind == sumsKind && v.axis == OverColumns:
		along = []int{1}
	default:
		return nil, nil, nil
	}
	base, shape = v.in[0], nil
	if len(v.shapes) > 0 {
		shape = v.shapes[0]
	}
	for i := range shape {
		left = append(left, i)
	}
	if base.gorgonia() == "sumOp" {
		base, shape, left = base.summed()
	}
	drop := map[int]bool{}
	for _, a := range along {
		if a >= len(left) {
			return nil, nil, nil
		}
		drop[left[a]] = true
	}
	var rest []int
	for _, a := range left {
		if !drop[a] {
			rest = append(rest, a)
		}
	}
	return base, shape, rest
}
