package method

import (
	"math"
	"math/rand/v2"

	"ppal/trainer/problem"
)

// multiplierNetwork computes lambda(z) = |w2.relu(W1 z + b1) + b2|, the multiplier of a group with
// the features z, and trains the parameters with Adagrad. The network, about 250 numbers, is on the
// host.
type multiplierNetwork struct {
	inputs, units int
	x, squares    []float64 // W1 [units, inputs], b1, w2, b2, and the sums of squared gradients
	hidden        []float64
	gradient      []float64
	output        float64
}

// multiplierBias is b2 at the start. The bias keeps the first multiplier of each group away from 0.
const multiplierBias = 1

// newMultiplierNetwork returns a network with random weights from rng and b2 = multiplierBias.
func newMultiplierNetwork(inputs, units int, rng *rand.Rand) *multiplierNetwork {
	n := units*(inputs+2) + 1
	net := &multiplierNetwork{inputs: inputs, units: units, x: make([]float64, n), squares: make([]float64, n),
		hidden: make([]float64, units), gradient: make([]float64, n)}
	uniform := func(x []float64, fan int) { // the initialisation of torch.nn.Linear
		bound := 1 / math.Sqrt(float64(fan))
		for i := range x {
			x[i] = bound * (2*rng.Float64() - 1)
		}
	}
	uniform(net.x[:units*(inputs+1)], inputs)
	uniform(net.x[units*(inputs+1):n-1], units)
	net.x[n-1] = multiplierBias
	return net
}

// lambda returns the multiplier of z.
func (net *multiplierNetwork) lambda(z []float64) float64 {
	bias, out := net.x[net.units*net.inputs:], net.x[net.units*(net.inputs+1):]
	net.output = out[net.units]
	for i := range net.hidden {
		sum := bias[i]
		for j, v := range z {
			sum += net.x[i*net.inputs+j] * v
		}
		net.hidden[i] = math.Max(0, sum)
		net.output += out[i] * net.hidden[i]
	}
	return math.Abs(net.output)
}

// descend takes an Adagrad step of size step on the loss slope times lambda(z). The last call of
// lambda must be a call with the same z.
func (net *multiplierNetwork) descend(z []float64, slope, step float64) {
	d := slope
	if net.output < 0 {
		d = -slope
	}
	g := net.gradient
	clear(g)
	first, second := net.units*net.inputs, net.units*(net.inputs+1)
	for i, h := range net.hidden {
		g[second+i] = d * h
		if h > 0 {
			back := d * net.x[second+i]
			g[first+i] = back
			for j, v := range z {
				g[i*net.inputs+j] = back * v
			}
		}
	}
	g[second+net.units] = d
	for i, v := range g {
		net.squares[i] += v * v
		net.x[i] -= step * v / (math.Sqrt(net.squares[i]) + problem.AdagradEpsilon)
	}
}

// visitState shows the parameters and the sums of squared gradients to v.
func (net *multiplierNetwork) visitState(v problem.StateVisitor) {
	v.Numbers("multiplier.network", net.x)
	v.Numbers("multiplier.squares", net.squares)
}
