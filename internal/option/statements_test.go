package option

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// Statements are split at semicolons outside quotes and read back as themselves.
func TestStatements(t *testing.T) {
	var list []string
	o := Statements("subject-to", &list, "CONSTRAINT", "Bound a rate", func(text string) (string, error) {
		if text == "bad" {
			return "", errors.New("is bad")
		}
		return strings.ToLower(text), nil
	})
	for text, want := range map[string][]string{
		"A": {"a"}, "a; b": {"a", "b"}, "a;\nb;": {"a", "b"}, `a["x;y"];b`: {`a["x;y"]`, "b"}, `a["x\";y"];b`: {`a["x\";y"]`, "b"},
	} {
		if err := o.Set(text); err != nil || !slices.Equal(list, want) {
			t.Errorf("%q: %q, %v, want %q", text, list, err, want)
		}
		if err := o.Set(o.Text()); err != nil || !slices.Equal(list, want) {
			t.Errorf("%q: again %q, %v", text, list, err)
		}
		if !slices.Equal(o.Items(o.Text()), want) {
			t.Errorf("items %q, want %q", o.Items(o.Text()), want)
		}
	}
	for text, want := range map[string]string{"": "is empty", " ; ": "is empty", "bad": "is bad", "a; bad": `"bad": is bad`} {
		if err := o.Set(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if !o.Repeatable() || !o.Several() || o.Separator() != "; " {
		t.Error("statements are a list of its own kind")
	}
	names := Names("group", &list, "A[,...]", "")
	if !names.Repeatable() || names.Separator() != "," || !slices.Equal(names.Items("a,b"), []string{"a", "b"}) {
		t.Error("names are separated by commas")
	}
}
