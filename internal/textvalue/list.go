package textvalue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppal/internal/option"
)

// SetOf returns the texts as a set.
func SetOf(texts []string) map[string]bool {
	set := make(map[string]bool, len(texts))
	for _, text := range texts {
		set[text] = true
	}
	return set
}

// Listed joins the first names, at most most names, for an error.
func Listed(names []string, most int) string {
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = InList(name)
	}
	return strings.Join(shown, ", ") + more
}

// InList returns a name as a list shows it: in quotes if it has a comma, or characters that are not
// visible.
func InList(name string) string {
	invisible := func(c rune) bool { return !strconv.IsPrint(c) }
	if name == "" || strings.HasPrefix(name, `"`) || !strings.Contains(name, ",") && strings.IndexFunc(name, invisible) < 0 && name == strings.TrimSpace(name) {
		return name
	}
	return strconv.Quote(name)
}

// UpTo returns n as text, or "more than most" if n is larger.
func UpTo(n, most int) string {
	if n > most {
		return fmt.Sprintf("more than %d", most)
	}
	return fmt.Sprint(n)
}

// FlagNames returns names as the value of a flag on a command line.
func FlagNames(names ...string) string { return option.ShellWord(option.JoinNames(names)) }

// Without returns the values except one.
func Without(values []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == one })
}
