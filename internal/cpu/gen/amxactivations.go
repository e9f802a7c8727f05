package main

// An activation is a function that a forward product applies to its result and a bias. The tile
// unit computes the next sums meanwhile, so that the function takes hardly any time of its own.
type activation struct {
	name, formula string
	of            func(z vec) vec
}

// amxActivated returns the emitter of the forward products of 8-bit data on tiles that one function
// follows, by the function's place in the list.
func amxActivated(function int) func(a asm) {
	return func(a asm) {
		if !a.avx512 || a.size != 4 {
			return
		}
		for _, digits := range []int{3, 2} {
			strip{amx: amx{a}, digits: digits, forward: true, after: &activations(a)[function], labels: new(int)}.emit()
		}
	}
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
