package trainer

import "strings"

// Warning is a sentence about a run for its user, with what it is about. A program decides by the
// code, and shows the text.
type Warning struct {
	Code WarningCode
	Text string // what happened, what it means, and which flag to change
}

// WarningCode says what a warning is about. Other packages have codes of their own.
type WarningCode string

// The codes of the warnings of this package.
const (
	WarnInfeasibleStart WarningCode = "infeasible-start" // the start violates a constraint
	WarnSettings        WarningCode = "settings"         // a Diagnoser's: settings or a start outside the theory
	WarnConclusion      WarningCode = "conclusion"       // a Concluder's: what the finished run shows
	WarnGradient        WarningCode = "gradient"         // a gradient is probably wrong
	WarnCollapsed       WarningCode = "collapsed"        // the output is a worthless stationary point
	WarnOutput          WarningCode = "output"           // Settings.Output selects no iterate
)

// Warnings are the warnings of a run, in the order in which they arose.
type Warnings []Warning

// Has reports whether a warning has the code.
func (list Warnings) Has(code WarningCode) bool {
	for _, w := range list {
		if w.Code == code {
			return true
		}
	}
	return false
}

// Texts returns the sentences.
func (list Warnings) Texts() []string {
	texts := make([]string, len(list))
	for i, w := range list {
		texts[i] = w.Text
	}
	return texts
}

// separator stands between the code and the text of an encoded warning.
const separator = "\t"

// Encode returns a text for each warning, for a State.
func (list Warnings) Encode() []string {
	var texts []string
	for _, w := range list {
		texts = append(texts, string(w.Code)+separator+w.Text)
	}
	return texts
}

// DecodeWarnings is the inverse of Encode. A text without a code is a warning without a code.
func DecodeWarnings(texts []string) Warnings {
	var list Warnings
	for _, text := range texts {
		w := Warning{Text: text}
		if code, sentence, found := strings.Cut(text, separator); found {
			w = Warning{WarningCode(code), sentence}
		}
		list = append(list, w)
	}
	return list
}
