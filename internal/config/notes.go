package config

import (
	"slices"

	"ppal/internal/preset"
)

// Note is a remark on a setting's value.
type Note struct{ Key, Value, Text string }

// String returns "tau 0.27: not in the paper".
func (n Note) String() string { return n.Key + " " + n.Value + ": " + n.Text }

// Notes lists, with the paper's preset, the values that Moon et al. do not give for their
// Neyman-Pearson experiments ("Non-convex Multi-class Neyman-Pearson Classification" and its
// appendix). The practical preset has no notes.
func (t Train) Notes() []Note {
	if t.Preset != preset.Paper {
		return nil
	}
	var notes []Note
	for _, u := range preset.NotInPaper() {
		if text := t.Text(u.Name); text != "" && !slices.Contains(u.Published, text) {
			notes = append(notes, Note{u.Name, text, "not in the paper"})
		}
	}
	return notes
}
