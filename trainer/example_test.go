package trainer_test

import (
	"context"
	"fmt"
	"log"

	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// Maximise x + y in the disc x^2 + y^2 <= 2: (1, 1), with the multiplier 1/2.
func Example() {
	disc := problem.Functions{N: 2, M: 1,
		F:         func(x []float64) float64 { return -x[0] - x[1] },
		Gradient:  func(dst, x []float64) { dst[0], dst[1] = -1, -1 },
		G:         func(dst, x []float64) { dst[0] = x[0]*x[0] + x[1]*x[1] - 2 },
		JacobianT: func(dst, x, w []float64) { dst[0], dst[1] = 2*w[0]*x[0], 2*w[0]*x[1] },
	}
	p, err := disc.New([]float64{0, 0.5})
	if err != nil {
		log.Fatal(err)
	}
	r, err := trainer.Train(context.Background(), p, &method.ALM{}, trainer.Settings{Iterations: 1000, Tolerance: 1e-6})
	if err != nil {
		log.Fatal(err)
	}
	x := make([]float64, 2)
	p.Space().Read(x, problem.Iterate)
	fmt.Printf("%s: x = %.3f, multiplier %.3f\n", r.Status, x, r.Certificate.Nu)
	// Output: tolerance reached: x = [1.000 1.000], multiplier [0.500]
}
