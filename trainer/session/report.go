package session

import (
	"fmt"

	"ppal/internal/option"
	"ppal/internal/rundir"
)

// details returns the contents of details.json for the session with the description d.
func (s *Session) details(d Description) rundir.Details {
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
	return details
}

// report writes report.html, unless there is no renderer or err says why details.json is missing. A
// failure is a warning of the summary, because both files only show what other files hold.
func (s *Session) report(sum *Summary, err error) {
	if r := s.options.Files.Renderer; r != nil && err == nil {
		err = r.Page(s.files.dir, sum)
	}
	if err != nil {
		sum.Warnings = append(sum.Warnings, fmt.Sprintf("report.html was not written: %v (`ppal report %s` writes the page again)", err, option.ShellWord(string(s.files.dir))))
	}
}
