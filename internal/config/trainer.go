package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// TrainerMethod makes the method with its settings. The error wraps problem.ErrSettings; a resolved configuration has none.
func (t Train) TrainerMethod() (trainer.Method, error) {
	switch t.Method.Method {
	case "ssg", "ipp-ssg", "ipp-conex":
		return t.switching()
	case "multiplier-model":
		return &trainer.MultiplierModel{Step: t.MultiplierModelStep, NetworkStep: t.MultiplierModelNetworkStep,
			Units: t.MultiplierModelUnits, Seed: t.Seed}, nil
	}
	primal, err := t.primal()
	if err != nil {
		return nil, err
	}
	switch t.Method.Method {
	case "ppala":
		p, err := t.perturbation()
		return &trainer.PPALA{Perturbation: p, Primal: primal, Tolerance: t.FeasibilityTolerance}, err
	case "plada":
		return t.plada(primal)
	case "gdpa":
		return t.gdpa(primal)
	case "penalty":
		return &trainer.Penalty{Primal: primal, Coefficient: t.PenaltyCoefficient, Growth: t.PenaltyGrowth, Period: t.PenaltyPeriod}, nil
	case "gda":
		return &trainer.GDA{Primal: primal, DualStep: t.GDADualStep}, nil
	case "alm":
		return &trainer.ALM{Primal: primal, Penalty: t.ALMPenalty, Inner: t.ALMInner}, nil
	case "unconstrained":
		return &trainer.Unconstrained{Primal: primal}, nil
	}
	return nil, fmt.Errorf("config: %w: method %q", problem.ErrSettings, t.Method.Method)
}

func (t Train) primal() (trainer.PrimalSettings, error) {
	kind, err := trainer.ParsePrimal(t.Primal)
	if err != nil {
		return trainer.PrimalSettings{}, err
	}
	s := trainer.PrimalSettings{Kind: kind, Fixed: t.EtaScale == "fixed", Momentum: t.Momentum}
	s.Eta, err = stepSize(t.Eta)
	return s, err
}

// stepSize is a step size, 0 for auto and where the method has none.
func stepSize(text string) (float64, error) {
	if text == "" || text == "auto" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("config: %w: step size %q", problem.ErrSettings, text)
	}
	return x, nil
}

func (t Train) perturbation() (trainer.Perturbation, error) {
	delta, err := trainer.ParseDelta(t.Delta)
	return trainer.Perturbation{
		Alpha: t.Alpha, Beta: t.Beta, Tau: t.Tau,
		Delta: delta, DeltaP: t.DeltaP, DeltaQ: t.DeltaQ, Delta0: t.Delta0,
		SlackCap: t.SlackCap, ZeroSlack: t.SlackStart == "zero",
	}, err
}

func (t Train) plada(primal trainer.PrimalSettings) (trainer.Method, error) {
	p, err := t.perturbation()
	if err != nil {
		return nil, err
	}
	m := &trainer.PLADA{Perturbation: p, Primal: primal, XStep: trainer.Subgradient, // split is the problem's form
		Sigma0: t.Sigma0, BoxStep: t.MuStep == "box", Tolerance: t.FeasibilityTolerance}
	if t.XStep == "proxlinear" {
		m.XStep = trainer.ProxLinear
	}
	if steps, inner := strings.CutPrefix(t.XStep, "inner:"); inner {
		m.XStep = trainer.Inner
		if m.InnerSteps, err = strconv.Atoi(steps); err != nil {
			return nil, fmt.Errorf("config: %w: x-step %q", problem.ErrSettings, t.XStep)
		}
	}
	return m, nil
}

func (t Train) gdpa(primal trainer.PrimalSettings) (trainer.Method, error) {
	size, err := stepSize(t.GDPAStep)
	if err != nil {
		return nil, err
	}
	m := &trainer.GDPA{Step: size, Automatic: t.GDPAStep == "auto", ConstantStep: t.GDPAStepDecay == "constant",
		Penalty: t.GDPAPenalty, Perturbation: t.GDPAPerturbation, Ratio: t.GDPARatio}
	if primal.Kind != trainer.Gradient { // the published step is the method's own default
		m.Primal = &primal
	}
	return m, nil
}

// switching makes SSG and the inexact proximal point methods.
func (t Train) switching() (trainer.Method, error) {
	var sizes [4]float64
	for i, text := range []string{t.SSGStep, t.IPPSSGBound + t.IPPConExBound, t.IPPSSGRho + t.IPPConExRho, t.IPPConExT0} {
		var err error
		if sizes[i], err = stepSize(text); err != nil {
			return nil, err
		}
	}
	switch t.Method.Method {
	case "ssg":
		return &trainer.SSG{Tolerance: t.SSGTolerance, Step: sizes[0], StepRule: trainer.StepRule(t.SSGStepRule),
			ViolationRule: trainer.StepRule(t.SSGViolationRule), ViolationStep: t.SSGViolationStep}, nil
	case "ipp-ssg":
		return &trainer.IPPSSG{Tolerance: t.IPPSSGTolerance, Bound: sizes[1],
			ProximalPoint: trainer.ProximalPoint{RhoHat: sizes[2], Inner: t.IPPSSGInner}}, nil
	}
	return &trainer.IPPConEx{T0: sizes[3], Bound: sizes[1], Restart: t.IPPConExRestart,
		ProximalPoint: trainer.ProximalPoint{RhoHat: sizes[2], Inner: t.IPPConExInner}}, nil
}

// TrainerRegularizer is r, for GroupL1 without the groups, which are the model's.
func (t Train) TrainerRegularizer() (problem.Regularizer, error) {
	kind, err := problem.ParseRegularizer(t.Problem.Regularizer)
	if err != nil {
		return problem.Regularizer{}, err
	}
	r := problem.Regularizer{Kind: kind, Radius: t.Theta, Weight: t.RegularizerWeight}
	if kind == problem.Box {
		if len(t.Box) != 2 {
			return r, fmt.Errorf("config: %w: box %v", problem.ErrSettings, t.Box)
		}
		r.Lower, r.Upper = t.Box[0], t.Box[1]
	}
	return r, nil
}

// TrainerSettings are the run's, without observers.
func (t Train) TrainerSettings() (trainer.Settings, error) {
	s := trainer.Settings{
		Iterations: t.Iterations, Tolerance: t.Tolerance, RecordEvery: t.RecordEvery,
		NearEvery: t.NearStationarity, Output: trainer.Output(t.Output), FeasibilityTolerance: t.FeasibilityTolerance, Seed: t.Seed,
	}
	if t.TimeLimit != "none" {
		d, err := time.ParseDuration(t.TimeLimit)
		if err != nil {
			return s, fmt.Errorf("config: %w: time limit %q", problem.ErrSettings, t.TimeLimit)
		}
		s.TimeLimit = d
	}
	return s, nil
}
