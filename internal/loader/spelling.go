package loader

import (
	"fmt"
	"slices"

	"ppal/internal/columnar"
)

// remarkSpelling adds warnings about the values of the label and of groups that differ in spelling
// only, and notes about numbers with several spellings and values with blanks around them.
func (t *UserTable) remarkSpelling() {
	compared := map[string]bool{t.Label: true}
	for _, text := range slices.Concat(t.Opts.Groups, t.Opts.Attributes) {
		if c, err := columnar.ParseCondition(text, t.Header); err == nil && (c.Each || c.Value != "") {
			compared[c.Column] = true
		}
	}
	for _, c := range t.Columns {
		if !compared[c.Name] || c.Label && t.When != nil && c.Kind == numberKind {
			continue
		}
		for _, s := range c.Profile.Padded() {
			t.notes = append(t.notes, fmt.Sprintf("The column %q holds %s: they are one value, because blanks around a value do not count.", c.Name, s))
		}
		for _, s := range c.Profile.Alike() {
			switch {
			case c.Kind == CategoryKind:
				t.warnings = append(t.warnings, fmt.Sprintf("The column %q holds %v: they differ in spelling only, and count as different values. "+
					"If they are one value, write it in one way.", c.Name, s))
			case s.Number:
				t.notes = append(t.notes, fmt.Sprintf("The column %q holds %v: they are one number, and one group.", c.Name, s))
			}
		}
	}
}
