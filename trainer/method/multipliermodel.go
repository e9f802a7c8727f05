package method

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// MultiplierModel is the method of Narasimhan, Cotter, Zhou, Wang and Guo, "Approximate
// Heavily-Constrained Learning with Lagrange Multiplier Models", NeurIPS 2020. The multipliers of a
// group are functions of the group's features z: the absolute outputs of a network with one hidden
// layer, an output for each constraint of the group,
//
//	lambda(z) = |W2 a(W1 z + b1) + b2|,  b2 = 1 at the start.
//
// An iteration draws one group and takes an Adagrad step (Duchi, Hazan and Singer, 2011) of the
// model and of the network. The loss of the model is f + lambda.g, with the surrogates; the loss of
// the network is -Factor lambda.v, where v are the group's constraints on decisions (the
// proxy-Lagrangian).
//
// Deviations from the paper: the model's weights are on the device, and the network is on the host;
// f of groups of rows covers all rows instead of a mini-batch. The method has no certified
// multipliers of its own.
type MultiplierModel struct {
	// Step is the step size of Adagrad on the model; NetworkStep is the step size of Adagrad on the
	// network. 0 is the default of both, 0.1.
	Step, NetworkStep float64
	// Units is the number of hidden units of the network; 0 is the default, 50. Activation is a; "" is
	// ReLU.
	Units      int
	Activation MultiplierActivation
	// Factor is the factor of the network's loss; 0 is the default, 0.01.
	Factor float64
	// Seed seeds the first weights of the network. A session replaces 0 by the seed of the run.
	Seed uint64

	group        problem.DrawnGroup
	d, squares   problem.Vector
	net          *multiplierNetwork
	coefficients []float64
	multipliers  []float64 // lambda of the last drawn group, NaN at the start
}

// MultiplierActivation is the activation of the hidden units of a MultiplierModel.
type MultiplierActivation string

// The activations.
const (
	MultiplierReLU MultiplierActivation = "relu"
	MultiplierTanh MultiplierActivation = "tanh"
	// MultiplierNone is a network without hidden units, lambda = |b2|: all groups have the same
	// multipliers.
	MultiplierNone MultiplierActivation = "none"
)

var _ trainer.Method = (*MultiplierModel)(nil)

// The defaults of MultiplierModel.
const (
	DefaultMultiplierStep   = 0.1
	DefaultMultiplierUnits  = 50
	DefaultMultiplierFactor = 0.01

	multiplierStream = 0x6d756c7469706c // stream of the random numbers
)

func init() {
	describe[MultiplierModel](Description{
		Kinks: true, Rival: true,
		Summary: "multipliers from a network on the groups' features",
		About:   "Draws one group or query an iteration, so that many constraints cost as much as one.",
		Source: "Narasimhan, Cotter, Zhou, Wang and Guo, \"Approximate Heavily-Constrained Learning with Lagrange Multiplier Models\"," +
			" NeurIPS 2020",
	})
}

// Name implements trainer.Method.
func (m *MultiplierModel) Name() string { return "multiplier-model" }

// setRun implements runSetter.
func (m *MultiplierModel) setRun(_ float64, seed uint64) { m.Seed = cmp.Or(m.Seed, seed) }

// Needs implements trainer.Method.
func (m *MultiplierModel) Needs() trainer.Needs {
	return trainer.Needs{Of: "the multiplier model", Group: true}
}

// Init implements trainer.Method.
func (m *MultiplierModel) Init(p problem.Problem, at *problem.Point) error {
	if err := checkNumbers(number{"the multiplier model's step", m.Step}, number{"the step of the multiplier model's network", m.NetworkStep},
		number{"the factor of the multiplier model's network", m.Factor}); err != nil {
		return err
	}
	activation := cmp.Or(m.Activation, MultiplierReLU)
	if !slices.Contains([]MultiplierActivation{MultiplierReLU, MultiplierTanh, MultiplierNone}, activation) {
		return fmt.Errorf("method: %w: the activation of the multiplier model is %q, want relu, tanh or none", problem.ErrSettings, activation)
	}
	if m.Units < 0 {
		return fmt.Errorf("method: %w: the number of hidden units of the multiplier model is %d, want a positive number", problem.ErrSettings, m.Units)
	}
	units := cmp.Or(m.Units, DefaultMultiplierUnits)
	if activation == MultiplierNone {
		units = 0
	}
	m.group = problem.FeaturesOf(p).Group
	outputs := problem.Constraints(p)
	m.d, m.squares, m.coefficients = p.Space().New(), p.Space().New(), make([]float64, 1+outputs)
	m.coefficients[0] = 1
	m.net = newMultiplierNetwork(len(m.group.GroupFeatures()), units, outputs, rand.New(rand.NewPCG(m.Seed, multiplierStream)))
	m.net.tanh = activation == MultiplierTanh
	m.multipliers = slices.Repeat([]float64{math.NaN()}, outputs)
	return nil
}

// Iterate implements trainer.Method.
func (m *MultiplierModel) Iterate(p problem.Problem, at *problem.Point) error {
	z := m.group.GroupFeatures()
	slopes, err := m.group.DecisionViolations()
	if err != nil {
		return err
	}
	m.net.lambda(m.multipliers, z)
	copy(m.coefficients[1:], m.multipliers)
	if err := at.Backward(p, m.coefficients, m.d); err != nil {
		return err
	}
	p.Space().Adagrad(m.d, m.squares, cmp.Or(m.Step, DefaultMultiplierStep))
	for j := range slopes {
		slopes[j] *= -cmp.Or(m.Factor, DefaultMultiplierFactor)
	}
	m.net.descend(z, slopes, cmp.Or(m.NetworkStep, DefaultMultiplierStep))
	return at.SampleAndForward(p, at.Iteration+1)
}

// Report implements trainer.Method.
func (m *MultiplierModel) Report() trainer.Report {
	r := trainer.NewReport(cmp.Or(m.Step, DefaultMultiplierStep), nil)
	if !math.IsNaN(m.multipliers[0]) {
		r.Multipliers = slices.Clone(m.multipliers)
	}
	return r
}

// VisitState implements trainer.Method.
func (m *MultiplierModel) VisitState(v problem.StateVisitor) {
	v.Vector("multiplier.squares", m.squares)
	v.Numbers("multiplier.last", m.multipliers)
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
		option.Choice("multiplier-model-activation", &m.Activation, "choose the activation of the multipliers' network; none: no hidden units, so that all groups have the same multipliers",
			MultiplierReLU, MultiplierTanh, MultiplierNone),
		option.Number("multiplier-model-factor", &m.Factor, option.Positive, "multiply the loss of the multipliers' network by this factor").
			Or(option.Float(DefaultMultiplierFactor)),
	}
}

// multiplierNetwork computes lambda(z) = |W2 a(W1 z + b1) + b2|, the multipliers of a group with
// the features z, and trains the parameters with Adagrad. The network is on the host.
type multiplierNetwork struct {
	inputs, units, outputs int
	tanh                   bool      // a is tanh; else ReLU
	x, squares             []float64 // W1 [units, inputs], b1, W2 [outputs, units], b2, and the sums of squared gradients
	hidden                 []float64
	gradient               []float64
	output                 []float64
}

// multiplierBias is b2 at the start. The bias keeps the first multipliers of each group away from
// 0.
const multiplierBias = 1

// newMultiplierNetwork returns a network with random weights from rng and b2 = multiplierBias.
func newMultiplierNetwork(inputs, units, outputs int, rng *rand.Rand) *multiplierNetwork {
	first, second := units*(inputs+1), outputs*units
	n := first + second + outputs
	net := &multiplierNetwork{inputs: inputs, units: units, outputs: outputs, x: make([]float64, n), squares: make([]float64, n),
		hidden: make([]float64, units), gradient: make([]float64, n), output: make([]float64, outputs)}
	uniform := func(x []float64, fan int) { // the initialisation of torch.nn.Linear
		bound := 1 / math.Sqrt(float64(fan))
		for i := range x {
			x[i] = bound * (2*rng.Float64() - 1)
		}
	}
	uniform(net.x[:first], inputs)
	uniform(net.x[first:first+second], units)
	for i := first + second; i < n; i++ {
		net.x[i] = multiplierBias
	}
	return net
}

// layers returns the parts of x, or of a gradient.
func (net *multiplierNetwork) layers(x []float64) (w1, b1, w2, b2 []float64) {
	first, second := net.units*net.inputs, net.units*(net.inputs+1)
	last := second + net.outputs*net.units
	return x[:first], x[first:second], x[second:last], x[last:]
}

// lambda writes the multipliers of z.
func (net *multiplierNetwork) lambda(multipliers, z []float64) {
	w1, b1, w2, b2 := net.layers(net.x)
	for i := range net.hidden {
		sum := b1[i]
		for j, v := range z {
			sum += w1[i*net.inputs+j] * v
		}
		if net.hidden[i] = max(0, sum); net.tanh {
			net.hidden[i] = math.Tanh(sum)
		}
	}
	for k := range net.output {
		net.output[k] = b2[k]
		for i, h := range net.hidden {
			net.output[k] += w2[k*net.units+i] * h
		}
		multipliers[k] = math.Abs(net.output[k])
	}
}

// descend takes an Adagrad step of size step on the loss slopes.lambda(z). The last call of lambda
// must be a call with the same z.
func (net *multiplierNetwork) descend(z, slopes []float64, step float64) {
	clear(net.gradient)
	_, _, w2, _ := net.layers(net.x)
	d1, d1b, d2, d2b := net.layers(net.gradient)
	for k, d := range slopes {
		if net.output[k] < 0 {
			d = -d
		}
		d2b[k] = d
		for i, h := range net.hidden {
			d2[k*net.units+i] = d * h
			d1b[i] += d * w2[k*net.units+i]
		}
	}
	for i, h := range net.hidden {
		switch {
		case net.tanh:
			d1b[i] *= 1 - h*h
		case h == 0:
			d1b[i] = 0
		}
		for j, v := range z {
			d1[i*net.inputs+j] = d1b[i] * v
		}
	}
	for i, v := range net.gradient {
		net.squares[i] += v * v
		net.x[i] -= step * v / (math.Sqrt(net.squares[i]) + problem.AdagradEpsilon)
	}
}

// visitState shows the parameters and the sums of squared gradients to v.
func (net *multiplierNetwork) visitState(v problem.StateVisitor) {
	v.Numbers("multiplier.network", net.x)
	v.Numbers("multiplier.squares", net.squares)
}
