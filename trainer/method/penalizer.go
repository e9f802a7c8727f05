package method

import (
	"ppal/trainer"
	"ppal/trainer/step"
)

var (
	_ trainer.Penalizer = (*ALM)(nil)
	_ trainer.Penalizer = (*PPALA)(nil)
	_ trainer.Penalizer = (*PLADA)(nil)
	_ trainer.Penalizer = (*GDPA)(nil)
	_ trainer.Penalizer = (*Penalty)(nil)
)

// unlessFixed returns the penalty, or 0 if the primal step has a fixed size.
func unlessFixed(penalty float64, s step.Settings) float64 {
	if s.Fixed {
		return 0
	}
	return penalty
}

// CurrentPenalty implements trainer.Penalizer with c.
func (m *ALM) CurrentPenalty() float64 { return unlessFixed(m.c, m.Primal) }

// BeginWith implements trainer.Penalizer.
func (m *ALM) BeginWith(c float64) { m.c = max(m.c, c) }

// CurrentPenalty implements trainer.Penalizer with rho.
func (m *PPALA) CurrentPenalty() float64 { return unlessFixed(m.dual.rho, m.Primal) }

// BeginWith implements trainer.Penalizer.
func (m *PPALA) BeginWith(c float64) { m.dual.beginWith(c) }

// CurrentPenalty implements trainer.Penalizer with rho.
func (m *PLADA) CurrentPenalty() float64 { return unlessFixed(m.dual.rho, m.Primal) }

// BeginWith implements trainer.Penalizer.
func (m *PLADA) BeginWith(c float64) { m.dual.beginWith(c) }

// beginWith raises rho to at least c. tau rho keeps its value.
func (d *perturbed) beginWith(c float64) { d.setRho(max(d.rho, c)) }

// setRho changes rho. tau rho keeps its value.
func (d *perturbed) setRho(rho float64) { d.tau, d.rho = d.tau*(d.rho/rho), rho }

// CurrentPenalty implements trainer.Penalizer with beta_0. The published step size alpha_r is a
// schedule that does not follow the penalty.
func (m *GDPA) CurrentPenalty() float64 {
	if !m.Automatic {
		return 0
	}
	return m.beta
}

// BeginWith implements trainer.Penalizer.
func (m *GDPA) BeginWith(c float64) { m.beta = max(m.beta, c) }

// CurrentPenalty implements trainer.Penalizer with the first c.
func (m *Penalty) CurrentPenalty() float64 { return unlessFixed(m.c, m.Primal) }

// BeginWith implements trainer.Penalizer.
func (m *Penalty) BeginWith(c float64) { m.c = max(m.c, c) }
