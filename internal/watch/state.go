package watch

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"ppal/trainer"
)

// state is what the records of a run say.
type state struct {
	run     *run
	records []trainer.Record
}

// last returns the last record.
func (s *state) last() *trainer.Record { return &s.records[len(s.records)-1] }

// iterations returns "300 of 1000 iterations".
func (s *state) iterations() string {
	if most := s.run.settings.Iterations; most > 0 {
		return fmt.Sprintf("%d of %d iterations", s.last().Iteration, most)
	}
	return fmt.Sprintf("%d iterations", s.last().Iteration)
}

// share returns the finished share of the iterations, or of the time limit if that share is larger.
func (s *state) share() float64 {
	share := 0.0
	if most := s.run.settings.Iterations; most > 0 {
		share = float64(s.last().Iteration) / float64(most)
	}
	if limit := s.run.settings.timeLimit(); limit > 0 {
		share = max(share, s.last().Seconds/limit)
	}
	return min(share, 1)
}

// left estimates the seconds of training until a limit ends the run, from the second half of the
// records; ok is false without an estimate.
func (s *state) left() (seconds float64, ok bool) {
	from, to := &s.records[len(s.records)/2], s.last()
	if len(s.records) < 4 || to.Iteration <= from.Iteration {
		from = &s.records[0]
	}
	seconds = math.Inf(1)
	if most := s.run.settings.Iterations; most > 0 && to.Iteration > from.Iteration {
		rate := (to.Seconds - from.Seconds) / float64(to.Iteration-from.Iteration)
		seconds = rate * float64(most-to.Iteration)
	}
	if limit := s.run.settings.timeLimit(); limit > 0 {
		seconds = min(seconds, limit-to.Seconds)
	}
	return max(seconds, 0), !math.IsInf(seconds, 1)
}

// times returns the time of the training and the estimate of the time that is left. A run may end
// before its limits.
func (s *state) times() string {
	text := span(s.last().Seconds) + " of training"
	if left, ok := s.left(); ok && s.share() < 1 {
		text += ", at most about " + span(left) + " left"
	}
	return text
}

// span returns seconds in words: "12.1 s", "3m20s".
func span(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// line returns the state in one line.
func (s *state) line() string {
	if len(s.records) == 0 {
		return ""
	}
	r := s.last()
	text := fmt.Sprintf("iteration %s (%.0f%%), %s: objective %.4g, worst violation %.2g, epsilon %.2g",
		strings.TrimSuffix(s.iterations(), " iterations"), 100*s.share(), s.times(), r.Objective, r.MaxViolation, s.epsilon(r))
	if rows := s.rows(); len(rows) > 0 {
		text += ", " + unmet(rows)
	}
	return text
}

// epsilon returns the epsilon of a record's certificate.
func (s *state) epsilon(r *trainer.Record) float64 {
	return max(r.Stationarity, r.Infeasibility, r.Complementarity)
}

// The sizes of a screen in columns and lines.
const (
	barWidth   = 30
	trendWidth = 40
	leastRows  = 3 // constraints that a low screen shows
)

// screen returns the state for a terminal.
func (s *state) screen(width, height int) []string {
	lines := []string{s.run.title}
	if len(s.records) == 0 {
		return fit(append(lines, "no record yet"), width)
	}
	full := int(s.share() * barWidth)
	lines = append(lines,
		fmt.Sprintf("%s%s %.0f%%, %s", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), 100*s.share(), s.iterations()),
		s.times(), "")
	for _, q := range []struct {
		name string
		of   func(r *trainer.Record) float64
	}{
		{"objective", func(r *trainer.Record) float64 { return r.Objective }},
		{"worst violation", func(r *trainer.Record) float64 { return r.MaxViolation }},
		{"KKT epsilon", s.epsilon},
	} {
		values := make([]float64, len(s.records))
		for i := range s.records {
			values[i] = q.of(&s.records[i])
		}
		lines = append(lines, fmt.Sprintf("%-16s %-10.4g %s", q.name, values[len(values)-1], trend(values, trendWidth)))
	}
	if m := s.last().Measures; len(m) > 0 {
		var errors []string
		for _, split := range []string{"train", "validation", "test"} {
			if x, ok := m[split+"_error"]; ok {
				errors = append(errors, fmt.Sprintf("%s %.4f", split, x))
			}
		}
		if errors != nil {
			lines = append(lines, fmt.Sprintf("%-16s %s", "error", strings.Join(errors, ", ")))
		}
	}
	if rows := s.rows(); len(rows) > 0 {
		lines = append(lines, "")
		lines = append(lines, table(rows, max(leastRows, height-len(lines)-3))...)
	}
	return fit(lines, width)
}

// fit cuts lines at the width.
func fit(lines []string, width int) []string {
	for i, line := range lines {
		if utf8.RuneCountInString(line) > width {
			lines[i] = string([]rune(line)[:max(0, width)])
		}
	}
	return lines
}

// trend draws values as a line of blocks, at most width columns wide. Values that are never
// negative and range over several powers of ten have a logarithmic scale.
func trend(values []float64, width int) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	least, most, positive := math.Inf(1), math.Inf(-1), math.Inf(1)
	for _, v := range values {
		least, most = min(least, v), max(most, v)
		if v > 0 {
			positive = min(positive, v)
		}
	}
	scale := func(v float64) float64 { return v }
	const wide = 100
	if least >= 0 && most > wide*positive {
		scale = func(v float64) float64 { return math.Log(max(v, positive)) }
		least = positive
	}
	low, high := scale(least), scale(most)
	n := min(width, len(values))
	var text strings.Builder
	for k := range n {
		v := scale(values[(k+1)*len(values)/n-1])
		level := 0
		if high > low {
			level = int((v - low) / (high - low) * float64(len(levels)-1))
		}
		text.WriteRune(levels[min(max(level, 0), len(levels)-1)])
	}
	return text.String()
}
