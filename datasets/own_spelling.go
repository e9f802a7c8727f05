package datasets

import (
	"fmt"
	"slices"
)

// remarkSpelling adds warnings about the values of the label and of groups that differ in spelling
// only, and notes about numbers with several spellings.
func (t *ownTable) remarkSpelling() {
	compared := map[string]bool{t.label: true}
	for _, text := range slices.Concat(t.opts.Groups, t.opts.Attributes) {
		if c, err := parseCondition(text, t.header); err == nil && (c.each || c.value != "") {
			compared[c.column] = true
		}
	}
	for _, c := range t.columns {
		if !compared[c.name] || c.label && t.when != nil && c.kind == numberKind {
			continue
		}
		for _, s := range c.profile.alike() {
			switch {
			case c.kind == categoryKind:
				t.warnings = append(t.warnings, fmt.Sprintf("The column %q holds %v: they differ in spelling only, and count as different values. "+
					"If they are one value, write it in one way.", c.name, s))
			case s.number:
				t.notes = append(t.notes, fmt.Sprintf("The column %q holds %v: they are one number, and one group.", c.name, s))
			}
		}
	}
}
