package session_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"gorgonia.org/gorgonia"

	"ppal/datasets/matrix"
	"ppal/trainer"
	"ppal/trainer/session"
)

// Example does the run of
//
//	ppal train --problem dp --dataset adult
//
// with the built-in stand-in for Adult, which needs no files.
func Example() {
	dir, ctx := tempDir(), context.Background()
	defer os.RemoveAll(dir)
	s, err := session.New(ctx, session.Options{
		Data:     session.Table{Dataset: "synthetic-adult"}, // "adult" after ppal data fetch adult
		Task:     session.DemographicParity{},
		Settings: trainer.Settings{Iterations: 100, Seed: 1}, // the default is 1000 iterations
	})
	check(err)
	defer s.Close()
	result, err := s.Train(ctx)
	check(err)
	check(s.Save(filepath.Join(dir, "run")))
	fmt.Printf("loss %.1f, gap within its bound: %v\n", result.Objective, result.Constraints[0] < 1e-3)
	// Output: loss 0.4, gap within its bound: true
}

// The objective and the constraint are the caller's own Gorgonia nodes on the caller's own rows.
// The scores fit the labels by least squares, with a bound on their mean square.
func Example_ownGraph() {
	dir, ctx := tempDir(), context.Background()
	defer os.RemoveAll(dir)
	const rows, bound = 400, 0.2
	x, labels := &matrix.Dense{Rows: rows, Cols: 2}, make([]int, rows)
	for i := range labels {
		a := math.Mod(float64(i)*0.618, 2) - 1
		x.Data = append(x.Data, a, a*a)
		labels[i] = int(math.Copysign(1, a))
	}
	fit := &session.Statement{
		Name: "bounded-fit", Constraints: []session.Constraint{{Name: "energy", Bound: bound}},
		Nodes: func(scores *gorgonia.Node, rows session.Rows) (*gorgonia.Node, gorgonia.Nodes, error) {
			var target []float64
			for _, y := range rows.Labels {
				target = append(target, float64(y))
			}
			misses := gorgonia.Must(gorgonia.Sub(scores, session.Column(scores, "target", target)))
			f := gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(misses))))
			energy := gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(scores))))
			return f, gorgonia.Nodes{gorgonia.Must(gorgonia.Sub(energy, session.Number(scores, bound)))}, nil
		},
	}
	data := session.Matrices{Train: &session.Matrix{Features: x, Labels: labels}}
	s, err := session.New(ctx, session.Options{Data: data, Task: fit})
	check(err)
	defer s.Close()
	result, err := s.Train(ctx)
	check(err)
	check(s.Save(filepath.Join(dir, "run")))
	fmt.Printf("f %.3f, energy %.3f, multiplier %.2f\n", result.Objective, result.Values[1], result.Certificate.Nu[0])
	// Output: f 0.425, energy 0.200, multiplier 0.94
}

// tempDir returns a new directory.
func tempDir() string {
	dir, err := os.MkdirTemp("", "session")
	check(err)
	return dir
}

// check ends the program on an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
