package suite

import (
	"fmt"

	"ppal/models"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// pictureProblems returns problems of multi-class Neyman-Pearson classification: the loss of the
// first class is the objective, and kappa bounds the loss of every other class. The model has one
// hidden layer of sigmoids and weights in a ball of radius theta.
func pictureProblems() []Problem {
	var list []Problem
	for _, e := range []struct {
		data, classes string
		kappa, theta  float64
		width, rows   int
		seed          uint64
	}{
		// t-shirt, trouser, pullover, dress
		{"fashion", "0123", 0.2, 40, 64, 1000, 1},
		{"fashion", "0123", 0.2, 40, 16, 6000, 1},
		{"fashion", "0123", 0.2, 5, 16, 200, 2},
		{"fashion", "0123", 0.05, 5, 16, 200, 1},
		{"fashion", "0123", 0.05, 5, 256, 200, 1},
		{"fashion", "0123", 0.02, 40, 64, 200, 2},
		// sandal, sneaker, ankle boot, trouser
		{"fashion", "5791", 0.05, 40, 64, 500, 1},
		{"fashion", "5791", 0.5, 200, 32, 500, 2},
		// shirt, t-shirt, pullover, coat
		{"fashion", "6024", 0.05, 40, 32, 200, 1},
		{"fashion", "6024", 0.2, 40, 64, 500, 2},
		{"fashion", "6024", 0.05, 40, 64, 1000, 1},
		{"fashion", "6024", 0.1, 200, 128, 200, 3},
		// all ten classes
		{"fashion", "0123456789", 0.05, 40, 64, 200, 1},
		{"fashion", "0123456789", 0.2, 200, 32, 300, 2},
		// airplane, automobile, bird, cat; and in reverse
		{"cifar10", "0123", 0.6, 40, 32, 200, 1},
		{"cifar10", "3210", 0.4, 200, 16, 200, 2},
	} {
		classes := make([]int, len(e.classes))
		for i, c := range e.classes {
			classes[i] = int(c - '0')
		}
		dataset, named := e.data, e.classes
		if dataset == "fashion" {
			dataset = "fashion-mnist"
		}
		if len(classes) == 10 {
			named = "all"
		}
		list = append(list, Problem{
			Name:   fmt.Sprintf("%s-%s-k%v-t%v-w%d-n%d", e.data, named, e.kappa, e.theta, e.width, e.rows),
			Family: pictures, Seed: e.seed,
			Task: session.NeymanPearson{Kappa: []float64{e.kappa}},
			Data: func(dir string) session.Source {
				return session.Images{Dataset: dataset, Dir: dir, Classes: classes, RowsPerClass: e.rows, Normalize: models.NormalizeStandardize}
			},
			Model:       models.Spec{Hidden: []int{e.width}, Activation: models.Sigmoid},
			Regularizer: problem.Regularizer{Kind: problem.Ball, Radius: e.theta},
		})
	}
	return list
}
