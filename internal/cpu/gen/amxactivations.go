package main

// An activation is a function that a forward product applies to its result and a bias. The tile
// unit computes the next sums meanwhile, so that the function takes hardly any time of its own.
type activation struct {
	name, formula string
	of            func(z vec) vec
}

// activations lists the functions, which have the instructions and so the bits of the passes
// biasSigmoid, biasTanh and biasReLU.
func activations(a asm) []activation {
	return []activation{
		{"Sigmoid", "1 / (1 + e^-z)", a.sigmoid},
		{"Tanh", "tanh(z)", a.tanh},
		{"ReLU", "z, or -0 where z is below 0", a.relu},
	}
}
