package method

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// MultiplierModel is the method of Narasimhan, Cotter, Zhou, Wang and Guo, "Approximate
// Heavily-Constrained Learning with Lagrange Multiplier Models", NeurIPS 2020. The multiplier of a
// group is a function of the group's features z: the absolute output of a network with one hidden
// layer of ReLUs,
//
//	lambda(z) = |w2.relu(W1 z + b1) + b2|,  b2 = 1 at the start.
//
// An iteration draws one group and takes an Adagrad step (Duchi, Hazan and Singer, 2011) of the
// model and of the network. The loss of the model is f + lambda g, with the surrogates; the loss of
// the network is -0.01 lambda times the group's violation on decisions (the proxy-Lagrangian).
//
// Deviations from the paper: the model's weights are on the device, and the network, about 250
// numbers, is on the host; f covers all rows instead of a mini-batch. The method has no certified
// multiplier of its own.
type MultiplierModel struct {
	// Step is the step size of Adagrad on the model; NetworkStep is the step size of Adagrad on the
	// network. 0 is the default of both, 0.1.
	Step, NetworkStep float64
	// Units is the number of hidden units of the network; 0 is the default, 50.
	Units int
	// Seed seeds the first weights of the network. A session replaces 0 by the seed of the run.
	Seed uint64

	group        problem.DrawnGroup
	d, squares   problem.Vector
	net          *multiplierNetwork
	coefficients []float64
	multiplier   float64 // lambda of the last drawn group, NaN at the start
}

var _ trainer.Method = (*MultiplierModel)(nil)

// The defaults of MultiplierModel.
const (
	DefaultMultiplierStep  = 0.1
	DefaultMultiplierUnits = 50

	multiplierRate   = 0.01             // factor of the network's loss
	multiplierStream = 0x6d756c7469706c // stream of the random numbers
)

// Name implements trainer.Method.
func (m *MultiplierModel) Name() string { return "multiplier-model" }

// Needs implements trainer.Method.
func (m *MultiplierModel) Needs() trainer.Needs {
	return trainer.Needs{Of: "the multiplier model", Group: true}
}

// Init implements trainer.Method.
func (m *MultiplierModel) Init(p problem.Problem, at *problem.Point) error {
	if err := checkNumbers(number{"the multiplier model's step", m.Step},
		number{"the step of the multiplier model's network", m.NetworkStep}); err != nil {
		return err
	}
	if m.Units < 0 {
		return fmt.Errorf("method: %w: the number of hidden units of the multiplier model is %d, want a positive number", problem.ErrSettings, m.Units)
	}
	units := m.Units
	if units == 0 {
		units = DefaultMultiplierUnits
	}
	m.group = problem.FeaturesOf(p).Group
	m.d, m.squares, m.coefficients = p.Space().New(), p.Space().New(), []float64{1, 0}
	m.net = newMultiplierNetwork(len(m.group.GroupFeatures()), units, rand.New(rand.NewPCG(m.Seed, multiplierStream)))
	m.multiplier = math.NaN()
	return nil
}

// Iterate implements trainer.Method.
func (m *MultiplierModel) Iterate(p problem.Problem, at *problem.Point) error {
	z := m.group.GroupFeatures()
	violation, err := m.group.DecisionViolation()
	if err != nil {
		return err
	}
	m.multiplier = m.net.lambda(z)
	m.coefficients[1] = m.multiplier
	if err := at.Backward(p, m.coefficients, m.d); err != nil {
		return err
	}
	p.Space().Adagrad(m.d, m.squares, cmp.Or(m.Step, DefaultMultiplierStep))
	m.net.descend(z, -multiplierRate*violation, cmp.Or(m.NetworkStep, DefaultMultiplierStep))
	return at.SampleAndForward(p, at.Iteration+1)
}

// Report implements trainer.Method.
func (m *MultiplierModel) Report() trainer.Report {
	r := trainer.NewReport(cmp.Or(m.Step, DefaultMultiplierStep), nil)
	if !math.IsNaN(m.multiplier) {
		r.Multipliers = []float64{m.multiplier}
	}
	return r
}

// VisitState implements trainer.Method.
func (m *MultiplierModel) VisitState(v problem.StateVisitor) {
	v.Vector("multiplier.squares", m.squares)
	v.Number("multiplier.last", &m.multiplier)
	m.net.visitState(v)
}

// options returns the settings, bound to the fields of m.
func (m *MultiplierModel) options() []*option.Option {
	return []*option.Option{
		option.Number("multiplier-model-step", &m.Step, option.Positive, "set the Adagrad step size of the model").
			Or(option.Float(DefaultMultiplierStep)),
		option.Number("multiplier-model-network-step", &m.NetworkStep, option.Positive, "set the Adagrad step size of the multipliers' network").
			Or(option.Float(DefaultMultiplierStep)),
		option.Count("multiplier-model-units", &m.Units, option.AtLeast(1), "set the number of hidden units of the multipliers' network").
			Or(strconv.Itoa(DefaultMultiplierUnits)),
	}
}

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
