package trainer

import "encoding/json"

// Warning is a sentence about a run for its user, and a code of its subject. A program decides by
// the code, and shows the text.
type Warning struct {
	Code WarningCode `json:"code,omitempty"`
	Text string      `json:"text"` // what happened, what it means, and which flag to change
	// Claim is the part of Text that the numbers of the run decide, and Advice the rest; "": not
	// known.
	Claim  string `json:"claim,omitempty"`
	Advice string `json:"advice,omitempty"`
}

// NewWarning returns a warning with a claim and advice, which may be "".
func NewWarning(code WarningCode, claim, advice string) Warning {
	w := Warning{Code: code, Text: claim, Claim: claim, Advice: advice}
	if advice != "" {
		w.Text += "; " + advice
	}
	return w
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

// Encode returns a text for each warning, for a State or a checkpoint.
func (list Warnings) Encode() (texts []string) {
	for _, w := range list {
		text, _ := json.Marshal(w) // a struct of strings has no error
		texts = append(texts, string(text))
	}
	return texts
}

// DecodeWarnings is the inverse of Encode. A text of another form is a warning without a code.
func DecodeWarnings(texts []string) (list Warnings) {
	for _, text := range texts {
		var w Warning
		if json.Unmarshal([]byte(text), &w) != nil {
			w = Warning{Text: text}
		}
		list = append(list, w)
	}
	return list
}
