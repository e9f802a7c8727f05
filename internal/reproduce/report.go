package reproduce

import (
	"fmt"
	"path/filepath"
	"strings"

	"ppal/internal/chart"
	"ppal/internal/report"
	"ppal/internal/rundir"
	"ppal/internal/study"
)

// Report returns the figure's summary: the table of each comparison, and for each claim a verdict
// with its numbers.
func (f Figure) Report(names []string, outcomes []*study.Compared) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\nMoon et al., %s. `%s`\n\n", f.Title, f.Source, f.command())
	for _, line := range f.Data {
		fmt.Fprintf(&out, "%s\n\n", line)
	}
	fmt.Fprint(&out, "## Verdicts\n\n")
	for _, v := range f.Verdicts(names, outcomes) {
		fmt.Fprintf(&out, "- %s\n", v)
	}
	for i, o := range outcomes {
		fmt.Fprintf(&out, "\n#%s\n![%s](%s/plots/overview.svg)\n", o.Markdown(), names[i], names[i])
	}
	return out.String()
}

// Verdicts returns lines of the form "confirmed (published steps): claim: numbers".
func (f Figure) Verdicts(names []string, outcomes []*study.Compared) []string {
	var lines []string
	for _, v := range f.judge(names, outcomes) {
		lines = append(lines, fmt.Sprintf("**%s** (%s): %s. %s", v.Ruling, titleOf(v.Comparison), v.Claim, v.Numbers))
	}
	return lines
}

// judge tests the claims on each comparison.
func (f Figure) judge(names []string, outcomes []*study.Compared) (list []JournalVerdict) {
	for _, c := range f.claims {
		for i, o := range outcomes {
			if v, ok := c.test(o); ok {
				list = append(list, JournalVerdict{names[i], c.text, v.Ruling, v.Numbers})
			}
		}
	}
	return list
}

// Write writes the report, journal.json and the plots of the multipliers to the directory of the
// comparisons.
func (f Figure) Write(dir string, names []string, outcomes []*study.Compared) error {
	for i, o := range outcomes {
		for _, contender := range o.Comparison.Contenders {
			r := o.Of(contender.Name)[0]
			if len(r.Records) < 2 || len(r.Last().Multipliers) == 0 || len(r.Last().Auxiliary) == 0 || len(r.Last().Multipliers) > mostMultipliers {
				continue
			}
			title := fmt.Sprintf("%s, %s", contender.Name, names[i])
			p := &chart.Picture{Head: title, Charts: report.Multipliers(r.Records)}
			if err := p.Write(filepath.Join(dir, names[i], "plots", "multipliers-"+contender.Name+".svg")); err != nil {
				return err
			}
		}
	}
	journal, err := f.journal(names, outcomes)
	if err != nil {
		return err
	}
	if err := rundir.WriteFile(filepath.Join(dir, "journal.json"), journal); err != nil {
		return err
	}
	return rundir.WriteFile(filepath.Join(dir, "summary.md"), []byte(f.Report(names, outcomes)))
}

// mostMultipliers is the largest number of multipliers in a plot.
const mostMultipliers = 6
