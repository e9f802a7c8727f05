package decisions

import (
	"fmt"
	"slices"

	"ppal/internal/study"
)

// speedup is the claimed ratio of ExponentiatedGradient's wall time to ppal's.
const speedup = 10

// Bounds judges this claim: ppal meets the bound on the training decisions of every split, up to
// one row.
func (o *Outcome) Bounds(p Problem) study.Verdict {
	own := o.Table(p)[0]
	v := study.Verdict{Ruling: study.Confirmed, Numbers: fmt.Sprintf("%d of %d", own.Met, o.Options.Splits)}
	switch {
	case len(own.At[0]) < o.Options.Splits:
		v.Ruling, v.Numbers = study.CannotTell, fmt.Sprintf("%d of %d splits were measured", len(own.At[0]), o.Options.Splits)
	case own.Met < o.Options.Splits:
		v.Ruling = study.NotConfirmed
	}
	return v
}

// Errors judges this claim: at equal measured gap, ppal's test error is at most the test error of
// the best other contender, up to two standard errors of the paired differences. The numbers are
// the mean of the other contender's test error minus ppal's test error, in points, and the
// standard error of the mean.
func (o *Outcome) Errors(p Problem) study.Verdict {
	var best *Row
	least := 0.0
	rows := o.Table(p)
	for i := range rows[1:] {
		r := &rows[1+i]
		if len(r.Excess) < o.Options.Splits {
			continue // means over different splits are not comparable
		}
		if mean, _ := meanError(r.Excess); best == nil || mean < least {
			best, least = r, mean
		}
	}
	if best == nil {
		return study.Verdict{Ruling: study.CannotTell, Numbers: "no other meets the bound on every split"}
	}
	mean, standard := meanError(best.Excess)
	ruling := study.Confirmed
	if mean < 0 && -mean > 2*standard {
		ruling = study.NotConfirmed
	}
	return study.Verdict{Ruling: ruling, Numbers: fmt.Sprintf("%s ± %.2f, %s", signedPoints(mean), 100*standard, best.Contender.Name)}
}

// times judges this claim: ppal is at least speedup times faster than ExponentiatedGradient in
// wall time. The measure is the median over the splits of the ratio within a turn. The numbers are
// the ratios of the wall times with their range, and the ratios of the CPU times.
func (o *Outcome) times(p Problem) study.Verdict {
	rows := o.Table(p)
	at := slices.IndexFunc(rows, func(r Row) bool { return r.Contender.Name == exponentiatedGradient })
	if at < 0 || len(rows[at].Seconds) == 0 || len(rows[at].Seconds) != len(rows[0].Seconds) {
		return study.Verdict{Ruling: study.CannotTell, Numbers: "not measured"}
	}
	own, other := &rows[0], &rows[at]
	ratios := quotients(other.Seconds, own.Seconds)
	ratio := median(ratios)
	ruling := study.Confirmed
	if ratio < speedup {
		ruling = study.NotConfirmed
	}
	return study.Verdict{Ruling: ruling, Numbers: fmt.Sprintf("%.1f (%.1f to %.1f), CPU %.1f", ratio, slices.Min(ratios), slices.Max(ratios), median(quotients(other.CPU, own.CPU)))}
}

// quotients returns a[i]/b[i].
func quotients(a, b []float64) []float64 {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = a[i] / b[i]
	}
	return list
}

// edges returns a sentence for each contender whose best setting is at an end of its grid.
func (o *Outcome) edges(p Problem) []string {
	var list []string
	for _, r := range o.Table(p)[1:] {
		for _, axis := range r.Contender.atEdge(p, r.Setting) {
			list = append(list, fmt.Sprintf("%s on %s: %s %v is at an end of its grid", r.Contender.Name, p.title(), axis, r.Setting[axis]))
		}
	}
	return list
}

// signedPoints formats a difference of rates in percentage points.
func signedPoints(x float64) string { return fmt.Sprintf("%+.2f", 100*x) }
