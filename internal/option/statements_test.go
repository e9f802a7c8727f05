package option

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// lower is a statement whose canonical text is in lower case.
type lower string

func (l lower) String() string { return strings.ToLower(string(l)) }

// Statements are split at semicolons outside quotes and read back as themselves.
func TestStatements(t *testing.T) {
	var list []lower
	o := Statements("subject-to", &list, "CONSTRAINT", "Bound a rate", func(text string) (lower, error) {
		if text == "bad" {
			return "", errors.New("is bad")
		}
		return lower(text), nil
	})
	texts := func() (texts []string) {
		for _, s := range list {
			texts = append(texts, s.String())
		}
		return texts
	}
	for text, want := range map[string][]string{
		"A": {"a"}, "a; b": {"a", "b"}, "a;\nb;": {"a", "b"}, `a["x;y"];b`: {`a["x;y"]`, "b"}, `a["x\";y"];b`: {`a["x\";y"]`, "b"},
	} {
		if err := o.Set(text); err != nil || !slices.Equal(texts(), want) {
			t.Errorf("%q: %q, %v, want %q", text, list, err, want)
		}
		if err := o.Set(o.Text()); err != nil || !slices.Equal(texts(), want) {
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
	var groups []string
	names := Names("group", &groups, "A[,...]", "")
	if !names.Repeatable() || names.Separator() != "," || !slices.Equal(names.Items("a,b"), []string{"a", "b"}) {
		t.Error("names are separated by commas")
	}
}
