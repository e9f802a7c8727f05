package report

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// Duration formats a number of seconds.
func Duration(s float64) string {
	switch {
	case s < 1:
		return fmt.Sprintf("%.2f s", s)
	case s < 120:
		return fmt.Sprintf("%.1f s", s)
	case s < 7200:
		return fmt.Sprintf("%.0f min %.0f s", math.Floor(s/60), math.Mod(s, 60))
	}
	return fmt.Sprintf("%.0f h %.0f min", math.Floor(s/3600), math.Mod(s, 3600)/60)
}

// word is a part of a sentence; a flag or a quoted command is code.
type word struct {
	Text string
	Code bool
}

// Flag reports whether the word is a flag, which stays in one line.
func (w word) Flag() bool { return strings.HasPrefix(w.Text, "--") && !strings.Contains(w.Text, " ") }

// begins matches a text that begins with a word, not with a name, a flag or a formula.
var begins = regexp.MustCompile(`^[a-z]+ [^=]`)

var codes = regexp.MustCompile("`[^`]+`|(?:^|\\B)--[a-z][a-z0-9.-]*[a-z0-9]")

// words splits a sentence into plain text and code.
func words(sentence string) (list []word) {
	at := 0
	for _, m := range codes.FindAllStringIndex(sentence, -1) {
		if m[0] > at {
			list = append(list, word{sentence[at:m[0]], false})
		}
		list = append(list, word{strings.Trim(sentence[m[0]:m[1]], "`"), true})
		at = m[1]
	}
	if at < len(sentence) {
		list = append(list, word{sentence[at:], false})
	}
	return list
}

// sentence returns the text with a capital first letter, if it begins with a word, and a period at
// the end.
func sentence(text string) string {
	if text == "" {
		return text
	}
	if begins.MatchString(text) {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if !strings.ContainsRune(".!?:", rune(text[len(text)-1])) {
		text += "."
	}
	return text
}
