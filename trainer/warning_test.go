package trainer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Warnings of a state return with their codes; a text without a code is a warning without a code.
func TestWarningsOfAState(t *testing.T) {
	want := Warnings{{WarnSettings, "a tab\tin the text"}, {"", "no code"}}
	if diff := cmp.Diff(want, DecodeWarnings(want.Encode())); diff != "" {
		t.Error(diff)
	}
	if got := DecodeWarnings([]string{"a sentence"}); len(got) != 1 || got[0] != (Warning{Text: "a sentence"}) {
		t.Errorf("%q", got)
	}
	if !want.Has(WarnSettings) || want.Has(WarnOutput) {
		t.Error("Has looks at other codes")
	}
}
