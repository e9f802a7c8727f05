package config

// Note is a remark on a setting's value.
type Note struct{ Key, Value, Text string }

// String returns "tau 0.27: not in the paper".
func (n Note) String() string { return n.Key + " " + n.Value + ": " + n.Text }

// Notes lists, with the paper's preset, the values that Moon et al. do not give for their
// Neyman-Pearson experiments ("Non-convex Multi-class Neyman-Pearson Classification" and its
// appendix). The practical preset has no notes.
func (t Train) Notes() []Note {
	if t.Preset != "paper" {
		return nil
	}
	var notes []Note
	if t.Dataset != "fashion-mnist" && t.Dataset != "cifar10" {
		notes = append(notes, Note{"dataset", t.Dataset, "not in the paper"})
	}
	for _, name := range []string{
		"hidden", "iterations", "tau", "delta", "delta-p", "delta-q", "delta0", "slack-start",
		"gdpa-step", "gdpa-penalty", "gdpa-perturbation",
	} {
		if text := t.Text(name); text != "" {
			notes = append(notes, Note{name, text, "not in the paper"})
		}
	}
	return notes
}
