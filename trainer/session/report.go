package session

import (
	"fmt"

	"ppal/internal/report"
	"ppal/internal/rundir"
)

// report writes details.json and report.html. A failure is a warning of the summary, because both
// files only show what other files hold.
func (s *Session) report(sum *Summary) {
	warn := func(err error) {
		sum.Warnings = append(sum.Warnings, fmt.Sprintf("report.html was not written: %v (`ppal report %s` writes the page again)", err, s.files.dir))
	}
	if s.result != nil {
		d := s.pipeline.Describe()
		details := rundir.Details{Objective: d.Objective, Constraints: d.Constraints, Examples: s.result.Examples}
		for _, split := range s.result.Splits {
			if split.ROC == nil {
				continue
			}
			if details.ROC == nil {
				details.ROC = map[Split][][2]float64{}
			}
			for _, p := range split.ROC {
				details.ROC[split.Name] = append(details.ROC[split.Name], [2]float64{p.FPR, p.TPR})
			}
		}
		if err := s.files.dir.WriteDetails(details); err != nil {
			warn(err)
			return
		}
	}
	if err := report.WriteRun(s.files.dir, sum); err != nil {
		warn(err)
	}
}
