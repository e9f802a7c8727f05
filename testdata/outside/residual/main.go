// A program trains a residual network of its own on pictures: A + conv(relu(conv(A))), averaged.
package main

import (
	"context"
	"fmt"
	"os"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/models"
	"ppal/trainer/session"
	"ppal/trainer/session/verify"
)

type Residual struct {
	Picture           models.Picture
	Channels, Outputs int
}

func (Residual) Kind() string                                    { return "residual" }
func (r Residual) On(p models.Picture) models.Architecture       { r.Picture = p; return r }
func (r Residual) Dims() (inputs, outputs int)                   { return r.Picture.Pixels(), r.Outputs }
func (r Residual) Sized(_, out int) (models.Architecture, error) { r.Outputs = out; return r, nil }

func (r Residual) Parameters() (list []models.Parameter) {
	n, features := r.Channels, r.Channels*(r.Picture.Height/4)*(r.Picture.Width/4)
	for i, shape := range [][]int{{n, r.Picture.Channels, 3, 3}, {n, n, 3, 3}, {n, n, 3, 3}, {r.Outputs, features}} {
		list = append(list, models.Parameter{Name: fmt.Sprint("weight.", i), Shape: shape, FanIn: 9 * n}, models.Parameter{Name: fmt.Sprint("bias.", i), Shape: shape[:1], ScoreBias: i == 3})
	}
	return list
}

func (r Residual) Scores(x *gorgonia.Node, p gorgonia.Nodes) (*gorgonia.Node, error) {
	half, a := []int{2, 2}, must(gorgonia.Reshape(x, tensor.Shape{x.Shape()[0], r.Picture.Channels, r.Picture.Height, r.Picture.Width}))
	a = must(models.AveragePool2D(must(models.Convolve(a, p[0], p[1], 1)), half, []int{0, 0}, half))
	inner := must(models.Convolve(must(gorgonia.Rectify(must(models.Convolve(a, p[2], p[3], 1)))), p[4], p[5], 1))
	a = must(models.AveragePool2D(must(gorgonia.Add(a, inner)), half, []int{0, 0}, half))
	return models.AddBias(must(gorgonia.Mul(must(gorgonia.Reshape(a, tensor.Shape{x.Shape()[0], p[6].Shape()[0]})), p[6])), p[7])
}

func main() {
	models.Register[Residual]("residual") // so that Load knows the kind
	ctx := context.Background()
	o := session.Options{Data: session.Images{Dataset: "synthetic", RowsPerClass: 40}, Task: session.NeymanPearson{Kappa: []float64{0.5}}, Model: Residual{Channels: 3}, BatchSize: 32}
	o.Settings.Iterations, o.Settings.RecordEvery = 100, 100
	s := must(session.New(ctx, o))
	must(s.Train(ctx))
	must(0, s.Save(os.Args[1]))
	fmt.Println("met:", s.Summary().MaxViolation < 1e-3, "verified:", must(verify.Run(ctx, os.Args[1], o)).Verified)
	// Output: met: true verified: true
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
