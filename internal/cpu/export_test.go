package cpu

import (
	"slices"

	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// Executor is the part of a program that runs a plan in its own memory.
type Executor[T plan.Float] interface {
	Attach(v plan.View, data []T) error
	Forward() error
	Backward(coefficients []float64) error
	Contents(v plan.View) []T
}

// NewExecutor compiles a plan for a device.
func NewExecutor[T plan.Float](d *Device, p *plan.Plan) (Executor[T], error) {
	return newExecutor[T](d, p)
}

// PassesOf returns the device's passes over vectors.
func PassesOf[T plan.Float](d *Device) problem.Passes[T] { return newPasses[T](d) }

// Activations counts the steps of the forward pass that apply an activation: the products with
// 8-bit data that do so, and the other steps.
func Activations(x Executor[float32]) (fused, separate int) {
	for _, r := range x.(*executor[float32]).forward {
		for _, s := range r.steps {
			switch s := s.(type) {
			case *byteScores:
				if s.after != nil {
					fused++
				}
			case *biasActivation[float32]:
				separate++
			}
		}
	}
	return fused, separate
}

// SplitDerivatives finds the products with 8-bit data that compute their second factor. It makes
// separate steps compute the factor instead, and returns the number of these products.
func SplitDerivatives(x Executor[float32]) (count int) {
	for _, r := range x.(*executor[float32]).backward {
		for i, s := range r.steps {
			g, ok := s.(*byteGradient)
			if !ok || g.own == nil {
				continue
			}
			count++
			var before []step[float32]
			for _, p := range g.own.products {
				before = append(before, p)
				r.before = append(r.before, p)
			}
			r.steps = slices.Insert(r.steps, i, append(before, newActivationGrad[float32](g.own.slope))...)
			g.own.sums.fused, g.own = false, nil
			break
		}
	}
	return count
}

// Forced returns the device with products that it may compute slowly.
func Forced(d *Device, p plan.Products) *Device {
	own := *d
	own.products = p
	return &own
}
