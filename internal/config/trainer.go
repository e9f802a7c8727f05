package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// TrainerMethod makes the method with its settings. The error wraps problem.ErrSettings; a resolved configuration has none.
func (t Train) TrainerMethod() (trainer.Method, error) {
	switch t.Method.Method {
	case "ssg", "ipp-ssg", "ipp-conex":
		return t.switching()
	case "multiplier-model":
		return &method.MultiplierModel{Step: t.MultiplierModelStep, NetworkStep: t.MultiplierModelNetworkStep,
			Units: t.MultiplierModelUnits, Seed: t.Seed}, nil
	}
	primal, err := t.primal()
	if err != nil {
		return nil, err
	}
	switch t.Method.Method {
	case "ppala":
		p, err := t.perturbation()
		return &method.PPALA{Perturbation: p, Primal: primal, Tolerance: t.FeasibilityTolerance}, err
	case "plada":
		return t.plada(primal)
	case "gdpa":
		return t.gdpa(primal)
	case "penalty":
		return &method.Penalty{Primal: primal, Coefficient: t.PenaltyCoefficient, Growth: t.PenaltyGrowth, Period: t.PenaltyPeriod}, nil
	case "gda":
		return &method.GDA{Primal: primal, DualStep: t.GDADualStep}, nil
	case "alm":
		return &method.ALM{Primal: primal, Penalty: t.ALMPenalty, Inner: t.ALMInner}, nil
	case "unconstrained":
		return &method.Unconstrained{Primal: primal}, nil
	}
	return nil, fmt.Errorf("config: %w: method %q", problem.ErrSettings, t.Method.Method)
}

func (t Train) primal() (step.Settings, error) {
	kind, err := step.Parse(t.Primal)
	if err != nil {
		return step.Settings{}, err
	}
	s := step.Settings{Kind: kind, Fixed: t.EtaScale == "fixed", Momentum: t.Momentum}
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

func (t Train) perturbation() (method.Perturbation, error) {
	delta, err := method.ParseDelta(t.Delta)
	return method.Perturbation{
		Alpha: t.Alpha, Beta: t.Beta, Tau: t.Tau,
		Delta: delta, DeltaP: t.DeltaP, DeltaQ: t.DeltaQ, Delta0: t.Delta0,
		SlackCap: t.SlackCap, ZeroSlack: t.SlackStart == "zero",
	}, err
}

func (t Train) plada(primal step.Settings) (trainer.Method, error) {
	p, err := t.perturbation()
	if err != nil {
		return nil, err
	}
	m := &method.PLADA{Perturbation: p, Primal: primal, XStep: method.Subgradient, // split is the problem's form
		Sigma0: t.Sigma0, BoxStep: t.MuStep == "box", Tolerance: t.FeasibilityTolerance}
	if t.XStep == "proxlinear" {
		m.XStep = method.ProxLinear
	}
	if steps, inner := strings.CutPrefix(t.XStep, "inner:"); inner {
		m.XStep = method.Inner
		if m.InnerSteps, err = strconv.Atoi(steps); err != nil {
			return nil, fmt.Errorf("config: %w: x-step %q", problem.ErrSettings, t.XStep)
		}
	}
	return m, nil
}

func (t Train) gdpa(primal step.Settings) (trainer.Method, error) {
	size, err := stepSize(t.GDPAStep)
	if err != nil {
		return nil, err
	}
	m := &method.GDPA{Step: size, Automatic: t.GDPAStep == "auto", ConstantStep: t.GDPAStepDecay == "constant",
		Penalty: t.GDPAPenalty, Perturbation: t.GDPAPerturbation, Ratio: t.GDPARatio}
	if primal.Kind != step.Gradient { // the published step is the method's own default
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
		return &method.SSG{Tolerance: t.SSGTolerance, Step: sizes[0], StepRule: method.StepRule(t.SSGStepRule),
			ViolationRule: method.StepRule(t.SSGViolationRule), ViolationStep: t.SSGViolationStep}, nil
	case "ipp-ssg":
		return &method.IPPSSG{Tolerance: t.IPPSSGTolerance, Bound: sizes[1],
			ProximalPoint: method.ProximalPoint{RhoHat: sizes[2], Inner: t.IPPSSGInner}}, nil
	}
	return &method.IPPConEx{T0: sizes[3], Bound: sizes[1], Restart: t.IPPConExRestart,
		ProximalPoint: method.ProximalPoint{RhoHat: sizes[2], Inner: t.IPPConExInner}}, nil
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
