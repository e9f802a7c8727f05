package estimate

import (
	"fmt"
	"math"

	"ppal/trainer/internal/setting"
	"ppal/trainer/problem"
)

const (
	proximityFactor = 2   // of the modulus
	proximityFloor  = 0.1 // of the curvature of f
)

// CheckProximity refuses settings of rho^ and the modulus of weak convexity that do not fit
// together.
func CheckProximity(name string, rhoHat, modulus float64) error {
	switch {
	case !setting.IsSize(rhoHat) || !setting.IsSize(modulus):
		return fmt.Errorf("trainer: %w: %s's rho^ is %v and the modulus %v, want positive numbers", problem.ErrSettings, name, rhoHat, modulus)
	case rhoHat > 0 && rhoHat <= modulus:
		return fmt.Errorf("trainer: %w: %s's rho^ is %v, want it above the modulus %v", problem.ErrSettings, name, rhoHat, modulus)
	}
	return nil
}

// Proximity returns rho^ of the proximal problems and their modulus of strong convexity
// rho^ - modulus, given what was measured. A setting of 0 takes its default: the modulus that was
// measured, and for rho^ twice the modulus, but at least a tenth of the curvature of f.
func Proximity(rhoHat, modulus float64, measured Curvature) (rho, strong float64) {
	weak := setting.OrDefault(modulus, measured.Weak)
	rho = rhoHat
	if rho == 0 {
		rho = math.Max(proximityFactor*weak, proximityFloor*measured.Objective)
		if rho == 0 { // no curvature at all: any will do
			rho = 1
		}
	} else if modulus == 0 {
		weak = rho / proximityFactor
	}
	return rho, rho - weak
}
