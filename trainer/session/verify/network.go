package verify

import (
	"math"
	"runtime"
	"sync"

	"ppal/datasets/matrix"
	"ppal/internal/relay"
	"ppal/models"
)

// network holds a model's weights as trained. It computes with one row at a time.
type network struct {
	spec   models.Spec
	heads  [][]layer
	center []float64 // subtracted from the features; nil: nothing
}

// layer is z = x W + b. W is stored by inputs: w[i*out+o].
type layer struct {
	in, out int
	w, b    []float64
}

// newNetwork returns the network of weights in PyTorch's layout, in the order of
// models.Spec.Parameters.
func newNetwork(spec models.Spec, weights models.Weights, center []float64) *network {
	n := &network{spec: spec, center: center}
	heads := 1
	if spec.Heads == models.Separate {
		heads = spec.Outputs
	}
	layers := len(spec.Hidden) + 1
	for h := range heads {
		var own []layer
		for k := range layers {
			w, b := weights[2*(h*layers+k)], weights[2*(h*layers+k)+1]
			l := layer{in: w.Shape[1], out: w.Shape[0], w: make([]float64, len(w.Data)), b: b.Data}
			for o := range l.out {
				for i := range l.in {
					l.w[i*l.out+o] = w.Data[o*l.in+i]
				}
			}
			own = append(own, l)
		}
		n.heads = append(n.heads, own)
	}
	return n
}

func (n *network) kinks() bool { return len(n.spec.Hidden) > 0 && n.spec.Activation.Kinked() }

// flat returns all weights in one vector: each weight by inputs, then its bias.
func (n *network) flat() []float64 {
	var x []float64
	for _, h := range n.heads {
		for _, l := range h {
			x = append(append(x, l.w...), l.b...)
		}
	}
	return x
}

// ends returns the ends of the parameters in the vector of flat.
func (n *network) ends() (ends []int) {
	end := 0
	for _, h := range n.heads {
		for _, l := range h {
			ends = append(ends, end+len(l.w), end+len(l.w)+len(l.b))
			end += len(l.w) + len(l.b)
		}
	}
	return ends
}

// pass is the memory for the passes of one row at a time.
type pass struct {
	n        *network
	features []float64 // of a row in a dense form
	columns  []int32   // the nonzero features
	values   []float64
	start    [][]float64   // of each head: b - c W of the first layer
	z        [][][]float64 // the outputs of the layers after the activation, by head
	delta    [][][]float64 // derivatives by the layers' sums
}

func (n *network) newPass() *pass {
	p := &pass{n: n, features: make([]float64, n.spec.Inputs)}
	for _, h := range n.heads {
		first := append([]float64{}, h[0].b...)
		for i, c := range n.center {
			for o, w := range h[0].w[i*h[0].out : (i+1)*h[0].out] {
				first[o] -= c * w
			}
		}
		var z, d [][]float64
		for _, l := range h {
			z, d = append(z, make([]float64, l.out)), append(d, make([]float64, l.out))
		}
		p.start, p.z, p.delta = append(p.start, first), append(p.z, z), append(p.delta, d)
	}
	return p
}

// load reads row i.
func (p *pass) load(x matrix.Matrix, i int) {
	p.columns, p.values = p.columns[:0], p.values[:0]
	if s, ok := x.(matrix.Sparse); ok {
		starts, columns, values := s.Entries()
		for k := starts[i]; k < starts[i+1]; k++ {
			v := 1.0
			if values != nil {
				v = values[k]
			}
			p.columns, p.values = append(p.columns, columns[k]), append(p.values, v)
		}
		return
	}
	x.Float64(p.features, i, i+1)
	for j, v := range p.features {
		if v != 0 {
			p.columns, p.values = append(p.columns, int32(j)), append(p.values, v)
		}
	}
}

// forward writes the scores of the loaded row.
func (p *pass) forward(scores []float64) {
	at := 0
	for h, layers := range p.n.heads {
		for k, l := range layers {
			z := p.z[h][k]
			if k == 0 {
				copy(z, p.start[h])
				for e, j := range p.columns {
					addTo(z, l.w[int(j)*l.out:][:l.out], p.values[e])
				}
			} else {
				copy(z, l.b)
				for i, a := range p.z[h][k-1] {
					addTo(z, l.w[i*l.out:][:l.out], a)
				}
			}
			if k+1 < len(layers) {
				p.n.activate(z)
			}
		}
		at += copy(scores[at:], p.z[h][len(layers)-1])
	}
}

// addTo adds a x to z.
func addTo(z, x []float64, a float64) {
	for i, v := range x {
		z[i] += a * v
	}
}

// activate applies the activation.
func (n *network) activate(z []float64) {
	for i, v := range z {
		switch n.spec.Activation {
		case models.ReLU:
			switch {
			case v < 0:
				z[i] = 0
			case v == 0:
				z[i] = zeroSum
			}
		case models.Tanh:
			z[i] = math.Tanh(v)
		case models.LeakyReLU:
			if v < 0 {
				z[i] = leak * v
			}
		case models.Softplus:
			z[i] = math.Max(v, 0) + math.Log1p(math.Exp(-math.Abs(v)))
		default:
			z[i] = logisticOf(v)
		}
	}
}

// leak is the slope of leaky-relu below 0.
const leak = 0.01

// zeroSum is the value -0 of relu at 0. The derivative there is 1 (models.ReLU). Below 0 the value
// is +0 and the derivative is 0.
var zeroSum = math.Copysign(0, -1)

// slope returns the derivative of the activation where its value is a.
func (n *network) slope(a float64) float64 {
	switch n.spec.Activation {
	case models.ReLU:
		if a > 0 || a == 0 && math.Signbit(a) {
			return 1
		}
		return 0
	case models.Tanh:
		return 1 - a*a
	case models.LeakyReLU:
		if a < 0 {
			return leak
		}
		return 1
	case models.Softplus:
		return -math.Expm1(-a)
	}
	return a * (1 - a)
}

// backward adds the gradient of <d, scores> of the loaded row to sum, in the order of flat. It
// follows a forward pass of the row. The gradient by the first layer leaves out the center: see
// gradient.
func (p *pass) backward(sum, d []float64) {
	at, from := 0, 0
	for h, layers := range p.n.heads {
		last := len(layers) - 1
		at += copy(p.delta[h][last], d[at:][:layers[last].out])
		for k := last; k > 0; k-- {
			l, below := layers[k], p.delta[h][k-1]
			for i, a := range p.z[h][k-1] {
				s := 0.0
				for o, w := range l.w[i*l.out:][:l.out] {
					s += w * p.delta[h][k][o]
				}
				below[i] = s * p.n.slope(a)
			}
		}
		for k, l := range layers {
			w, b := sum[from:][:len(l.w)], sum[from+len(l.w):][:l.out]
			if k == 0 {
				for e, j := range p.columns {
					addTo(w[int(j)*l.out:][:l.out], p.delta[h][0], p.values[e])
				}
			} else {
				for i, a := range p.z[h][k-1] {
					addTo(w[i*l.out:][:l.out], p.delta[h][k], a)
				}
			}
			addTo(b, p.delta[h][k], 1)
			from += len(l.w) + l.out
		}
	}
}

// The numbers of shares of rows that are computed at the same time. The numbers are fixed, so that
// the sums do not depend on the machine. A large model has fewer shares, because each share has a
// gradient of its own.
const (
	manyShares  = 8
	fewShares   = 2
	largeNumber = 1 << 20 // parameters of a large model
)

// each runs do for each row, in shares. do gets the memory and the gradient of its share.
func (n *network) each(x matrix.Matrix, gradients bool, do func(p *pass, i int, gradient []float64)) (gradient []float64) {
	rows, _ := x.Dims()
	shares, size := manyShares, len(n.flat())
	if size > largeNumber {
		shares = fewShares
	}
	parts := make([][]float64, shares)
	var group sync.WaitGroup
	var panics relay.Relay
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for k := range shares {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			defer panics.Catch()
			relay.Guard()
			if gradients {
				parts[k] = make([]float64, size)
			}
			p := n.newPass()
			for i := k * rows / shares; i < (k+1)*rows/shares; i++ {
				p.load(x, i)
				do(p, i, parts[k])
			}
		})
	}
	group.Wait()
	panics.Throw()
	for _, part := range parts[1:] {
		addTo(parts[0], part, 1)
	}
	return parts[0]
}

// scores returns the scores of all rows, row by row.
func (n *network) scores(x matrix.Matrix) []float64 {
	rows, _ := x.Dims()
	c := n.spec.Outputs
	s := make([]float64, rows*c)
	n.each(x, false, func(p *pass, i int, _ []float64) { p.forward(s[i*c:][:c]) })
	return s
}

// gradient returns the gradient of <d, scores(x)> by the weights, in the order of flat. The
// features of the first layer are x - c, so its gradient is the gradient for x minus c times the
// gradient of the bias.
func (n *network) gradient(x matrix.Matrix, d []float64) []float64 {
	c := n.spec.Outputs
	sum := n.each(x, true, func(p *pass, i int, part []float64) {
		p.forward(make([]float64, c))
		p.backward(part, d[i*c:][:c])
	})
	from := 0
	for _, h := range n.heads {
		first := h[0]
		bias := sum[from+len(first.w):][:first.out]
		for i, v := range n.center {
			addTo(sum[from+i*first.out:][:first.out], bias, -v)
		}
		for _, l := range h {
			from += len(l.w) + len(l.b)
		}
	}
	return sum
}
