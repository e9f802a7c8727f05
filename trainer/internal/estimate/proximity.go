package estimate

import (
	"cmp"
	"fmt"
	"math"

	"ppal/internal/option"
	"ppal/trainer/problem"
)

const (
	proximityFactor = 2   // factor of the modulus
	proximityFloor  = 0.1 // factor of the curvature of f
)

// CheckProximity returns an error for invalid settings of rho^ and the modulus of weak convexity.
// The error names the method and wraps problem.ErrSettings.
func CheckProximity(name string, rhoHat, modulus float64) error {
	switch {
	case !option.IsSize(rhoHat) || !option.IsSize(modulus):
		return fmt.Errorf("estimate: %w: rho^ of %s is %v and the modulus %v, want positive numbers", problem.ErrSettings, name, rhoHat, modulus)
	case rhoHat > 0 && rhoHat <= modulus:
		return fmt.Errorf("estimate: %w: rho^ of %s is %v, want a number above the modulus %v", problem.ErrSettings, name, rhoHat, modulus)
	}
	return nil
}

// Proximity returns rho^ of the proximal problems and their modulus of strong convexity rho^ -
// modulus. A setting of 0 takes its default: the measured modulus, and for rho^ twice the modulus,
// but at least a tenth of the curvature of f.
func Proximity(rhoHat, modulus float64, measured Curvature) (rho, strong float64) {
	weak := cmp.Or(modulus, measured.Weak)
	rho = rhoHat
	if rho == 0 {
		rho = math.Max(proximityFactor*weak, proximityFloor*measured.Objective)
		if rho == 0 { // no measured curvature: any rho^ > 0 is valid
			rho = 1
		}
	} else if modulus == 0 {
		weak = rho / proximityFactor
	}
	return rho, rho - weak
}
