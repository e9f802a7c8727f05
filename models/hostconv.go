package models

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// numbers are the channels of one picture in float64.
type numbers struct {
	Picture
	data []float64
}

// hostLayers implements layers for one picture at a time, in float64.
type hostLayers struct {
	weights Weights // those that no layer has taken yet
	patches []float64
}

var _ layers[numbers] = &hostLayers{}

// predictPictures writes the scores of rows, as pictureScores does.
func predictPictures(scores, rows []float64, weights Weights, p Picture, dense Spec, features func(l layers[numbers], a numbers) numbers) {
	inputs := make([]float64, 0, len(rows)/p.Pixels()*dense.Inputs)
	l := &hostLayers{}
	for ; len(rows) > 0; rows = rows[p.Pixels():] {
		l.weights = weights
		inputs = append(inputs, features(l, numbers{p, rows[:p.Pixels()]}).data...)
	}
	dense.PredictRows(scores, inputs, weights[len(weights)-len(dense.Parameters()):])
}

func (l *hostLayers) next() []float64 {
	w := l.weights[0]
	l.weights = l.weights[1:]
	return w.Data
}

// convolve computes the channels z [k, places] = F [k, c s s] P [c s s, places] + b, with the
// patches P of the pixels.
func (l *hostLayers) convolve(a numbers, _ string, filters, side, stride int, bias bool) numbers {
	z := numbers{Picture: a.convolved(filters, side, stride)}
	z.data = make([]float64, z.Pixels())
	places, rows := z.Height*z.Width, a.Channels*side*side
	if len(l.patches) < rows*places {
		l.patches = make([]float64, rows*places)
	}
	clear(l.patches[:rows*places])
	for r := range rows {
		c, i, j := r/(side*side), r/side%side-side/2, r%side-side/2
		for y := range z.Height {
			v := y*stride + i
			if v < 0 || v >= a.Height {
				continue
			}
			to, line := l.patches[r*places+y*z.Width:][:z.Width], a.data[(c*a.Height+v)*a.Width:][:a.Width]
			if stride == 1 {
				if from, end := max(0, -j), min(z.Width, a.Width-j); from < end {
					copy(to[from:end], line[from+j:])
				}
				continue
			}
			for x := range to {
				if u := x*stride + j; u >= 0 && u < a.Width {
					to[x] = line[u]
				}
			}
		}
	}
	f := l.next()
	if bias {
		for k, b := range l.next() {
			for i := range places {
				z.data[k*places+i] = b
			}
		}
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1,
		blas64.General{Rows: filters, Cols: rows, Stride: rows, Data: f},
		blas64.General{Rows: rows, Cols: places, Stride: places, Data: l.patches},
		1, blas64.General{Rows: filters, Cols: places, Stride: places, Data: z.data})
	return z
}

func (l *hostLayers) normalize(a numbers, _ string) numbers {
	gain, bias := l.next(), l.next()
	size := a.Height * a.Width
	normalizeRanges(a.data, a.data, a.Channels/groupsOf(a.Channels)*size, normEpsilon)
	for i := range a.data {
		a.data[i] = a.data[i]*gain[i/size] + bias[i/size]
	}
	return a
}

func (l *hostLayers) activate(a numbers, f Activation) numbers {
	f.apply(a.data)
	return a
}

func (l *hostLayers) pool(a numbers, kind Pool, height, width int) numbers {
	to := numbers{Picture: a.pooled(height, width)}
	for c := range to.Channels {
		for y := range to.Height {
			for x := range to.Width {
				largest, sum := math.Inf(-1), 0.0
				for i := range height {
					for _, v := range a.data[(c*a.Height+y*height+i)*a.Width+x*width:][:width] {
						largest, sum = max(largest, v), sum+v
					}
				}
				if kind == AveragePool {
					largest = sum / float64(height*width)
				}
				to.data = append(to.data, largest)
			}
		}
	}
	return to
}

func (l *hostLayers) add(a, b numbers) numbers {
	floats.Add(a.data, b.data)
	return a
}
