package session

import (
	"fmt"
	"math"

	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// Summary returns the contents of summary.json. Before Save it has no checksums, and before Certify
// it is the zero value.
func (s *Session) Summary() Summary {
	if s.summary.Schema == 0 && s.result != nil {
		return s.summarise()
	}
	return s.summary
}

// rateTables returns the rates of decisions on the splits; nil without rates.
func (s *Session) rateTables() (tables map[Split]*RateTable) {
	for _, split := range s.result.Splits {
		if split.Rates == nil {
			continue
		}
		if tables == nil {
			tables = map[Split]*RateTable{}
		}
		tables[split.Name] = split.Rates
	}
	return tables
}

// summarise returns the summary of a certified run.
func (s *Session) summarise() Summary {
	r := s.result
	sum := s.commonSummary(s.training)
	sum.Objective, sum.Constraints, sum.Certificate = r.Objective, r.Constraints, rundir.NewCertificate(r.Certificate)
	sum.MaxViolation, sum.Outcome = problem.MaxViolation(r.Constraints), r.Outcome
	for _, split := range r.Splits {
		sum.Measures(split.Name, split.Named)
	}
	sum.Rates = s.rateTables()
	s.ended(sum.Outcome).Judge(&sum)
	if s.lost != nil {
		sum.Error = s.lost.Error()
	}
	return sum
}

// commonSummary returns the part of the summary that does not need a certificate.
func (s *Session) commonSummary(r *trainer.Result) Summary {
	d := s.Describe()
	sum := Summary{
		Schema: rundir.Schema,
		Status: string(r.Status), Iterations: r.Iterations, Seconds: r.Seconds, Bounds: d.Bounds,
		Device: d.deviceAndMemory(), Products: d.Products,
		PeakBytes: rundir.PeakBytes(), Warnings: append([]string{}, s.warnings...), Version: d.Version,
		OutputIteration: r.Output, ResidualDecay: rundir.NewResidualDecay(r.Decay),
		Notes: append([]string{}, concat(d.Notes, r.Notes)...),
	}
	sum.SecondsReading, sum.SecondsTotal = s.reading.Seconds(), s.spent.Seconds()
	sum.SecondsMeasuring = max(0, sum.SecondsTotal-sum.SecondsReading-sum.Seconds)
	sum.SecondsCertificates, sum.SecondsRounds, sum.SecondsRecords = r.Times.Certificates, r.Times.Rounds, r.Times.Records
	if s.result != nil {
		sum.SecondsCertificates += s.result.Certifying.Seconds()
	}
	sum.SecondsPlots = s.saving.Seconds()
	if b := r.BestFeasible; b != nil {
		sum.BestFeasible = &rundir.BestFeasible{Iteration: b.Iteration, Objective: b.Objective}
	}
	return sum
}

// deviceAndMemory returns the name of the device. For a GPU the text includes the peak of the
// memory in use.
func (d Description) deviceAndMemory() string {
	if d.DeviceBytes == 0 {
		return d.Device
	}
	const mega = 1e6
	return fmt.Sprintf("%s, at most %.0f MB on it", d.Device, math.Ceil(float64(d.DeviceBytes)/mega))
}
