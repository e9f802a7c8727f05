package cpu

import (
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
