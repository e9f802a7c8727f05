package option

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// kind is an enumeration for the tests.
type kind int

func TestSet(t *testing.T) {
	var x, unit, ratio float64
	var n int
	var seed uint64
	var on, big bool
	var list []float64
	var names []string
	var word string
	var k kind
	var most, every int
	var low, high float64
	number := Number("x", &x, Positive, "Set x")
	between := Number("unit", &unit, Between(0, 1), "Set it")
	word0 := NumberOr("ratio", &ratio, AtLeast(1), "none", "Set it")
	count := Count("n", &n, AtLeast(1), "Set n")
	seeds := Seed("seed", &seed, "Set it")
	numbers := Numbers("list", &list, AtLeast(0), "X,X", "Set it")
	texts := Names("names", &names, "NAME", "Set it")
	choice := Choice("word", &word, "Choose", "left", "right")
	enum := Enum("kind", &k, "Choose", "zero", "one", "two")
	for _, tc := range []struct {
		o          *Option
		text, want string // text is given, want is the text of the value that was read
		problem    string
	}{
		{number, "1e-3", "0.001", ""},
		{number, "0.1", "0.1", ""},
		{number, "-1", "", "must be positive"},
		{number, "NaN", "", "must be a positive number"},
		{number, "Inf", "", "must be a positive number"},
		{number, "ten", "", "must be a positive number"},
		{number, "1e999", "", "out of the range of a number"},
		{between, "1", "", "must be above 0 and below 1"},
		{between, "x", "", "must be a number, above 0 and below 1"},
		{word0, "none", "none", ""},
		{word0, "2", "2", ""},
		{word0, "0.5", "", "must be at least 1, or none"},
		{count, "3", "3", ""},
		{count, "0", "", "must be at least 1"},
		{count, "1.5", "", "must be a whole number, at least 1"},
		{count, "99999999999999999999", "", "out of the range of a whole number"},
		{seeds, "18446744073709551615", "18446744073709551615", ""},
		{seeds, "-1", "", "must be at least 0"},
		{numbers, "0.5, 2", "0.5,2", ""},
		{numbers, "0.5,-2", "", "each value must be at least 0"},
		{numbers, "", "", "must be a number, at least 0"},
		{texts, "a, b", "a,b", ""},
		{texts, "", "", ""},
		{texts, `"age, years" , b`, `"age, years",b`, ""},
		{texts, `"age, years"<45,"say ""it"""`, `"age, years<45",say "it"`, ""},
		{texts, `5" disk,"","open, x`, `5" disk,"","""open",x`, ""},
		{texts, `"",a`, `"",a`, ""},
		{Explicit("most", &most, "Set it"), "7", "7", ""},
		{Explicit("most", &most, "Set it"), "-1", "", "must be at least 0"},
		{Explicit("most", &most, "Set it"), "0", "0", ""},
		{ExplicitNumberOr("least", &x, "auto", "Set it"), "auto", "auto", ""},
		{ExplicitNumberOr("least", &x, "auto", "Set it"), "0", "0", ""},
		{ExplicitNumberOr("least", &x, "auto", "Set it"), "1e-3", "0.001", ""},
		{ExplicitNumberOr("least", &x, "auto", "Set it"), "-1", "", "must be at least 0, or auto"},
		{CountOr("every", &every, AtLeast(1), "auto", "Set it"), "auto", "auto", ""},
		{CountOr("every", &every, AtLeast(1), "auto", "Set it"), "x", "", "must be a whole number, at least 1, or auto"},
		{CountOr("every", &every, AtLeast(1), "auto", "Set it"), "3", "3", ""},
		{Range("box", &low, &high, "Set it"), "-1,2.5", "-1,2.5", ""},
		{Range("box", &low, &high, "Set it"), "2,1", "", "must be LO,HI with LO at most HI"},
		{Range("box", &low, &high, "Set it"), "1", "", "must be LO,HI with LO at most HI"},
		{Range("box", &low, &high, "Set it"), "x,1", "", "each value must be a finite number"},
		{Count("k", &most, Interval{}, "Set it").Refuse(func(string) error { return errors.New("does not fit") }), "3", "", "does not fit"},
		{Switch("on", &on, "Do it"), "true", "true", ""},
		{Switch("on", &on, "Do it"), "1", "", "must be true or false"},
		{choice, "right", "right", ""},
		{choice, "rigth", "", "unknown; did you mean right? (choose left or right)"},
		{choice, "x", "", "unknown; choose left or right"},
		{enum, "two", "two", ""},
		{Either("big", &big, "small", "big", "Choose"), "big", "big", ""},
	} {
		err := tc.o.Set(tc.text)
		switch {
		case tc.problem != "" && (err == nil || err.Error() != tc.problem):
			t.Errorf("%s %q: %v, want %s", tc.o.Name, tc.text, err, tc.problem)
		case tc.problem == "" && (err != nil || tc.o.Text() != tc.want):
			t.Errorf("%s %q reads back as %q: %v", tc.o.Name, tc.text, tc.o.Text(), err)
		}
	}
	if k != 2 || !big || word != "right" || ratio != 2 || most != -1 || every != 3 || low != -1 || high != 2.5 {
		t.Errorf("the fields are %v, %v, %v, %v, %v, %v, %v, %v", k, big, word, ratio, most, every, low, high)
	}
}

// lookup finds settings in a map.
func lookup(settings map[string]string) Lookup {
	return func(name string) string { return settings[name] }
}

func TestDefaults(t *testing.T) {
	x, base := 0.0, 4.0
	o := Number("x", &x, Positive, "Set x").
		OrRule("half of base", func() string { return Float(base / 2) }, "base").
		For("9", If("preset", "paper"), If("problem", "if")).For("7", If("preset", "paper")).
		With(If("mode", "inner")).In("rows")
	for _, tc := range []struct {
		settings map[string]string
		want     string
	}{
		{nil, "2"},
		{map[string]string{"preset": "paper", "problem": "if"}, "9"},
		{map[string]string{"preset": "paper", "problem": "dp"}, "7"},
		{map[string]string{"problem": "if"}, "2"},
	} {
		if got, ok := o.Default(lookup(tc.settings)); !ok || got != tc.want {
			t.Errorf("%v: %s, want %s", tc.settings, got, tc.want)
		}
	}
	const want = "Set x (default half of base; paper, if: 9; paper: 7; positive; in rows; with --mode inner)"
	if got := o.Sentence(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, unmet := o.Unmet(lookup(map[string]string{"mode": "inner:5"})); unmet {
		t.Error("inner:5 is not inner")
	}
	if c, unmet := o.Unmet(lookup(map[string]string{"mode": "innermost"})); !unmet || c.String() != "--mode inner" {
		t.Errorf("innermost: %v, %v", c, unmet)
	}
	if _, ok := Number("y", &x, Positive, "Set y").Default(lookup(nil)); ok {
		t.Error("a required option has a default")
	}
}

func TestNearest(t *testing.T) {
	names := []string{"alpha", "beta", "batch-size", "method", "eta", "gda", "gdpa"}
	for word, want := range map[string]string{
		"alhpa": "alpha", "bta": "beta", "batchsize": "batch-size", "methods": "method", "learning-rate": "", "x": "", "eat": "eta", "gpda": "gdpa", "ETA": "eta", "Alpha": "alpha",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// SetDefaults sets options in the order of their dependence, in whatever order the list has them.
func TestSetDefaults(t *testing.T) {
	type settings struct {
		rate, base, extra float64
		mode              string
	}
	s := settings{extra: 5}
	options := []*Option{
		Number("rate", &s.rate, Positive, "set it").OrRule("twice base", func() string { return Float(2 * s.base) }, "base"),
		Number("base", &s.base, Positive, "set it").Or("1").For("3", If("problem", "eo")).For("4", If("mode", "fast")),
		Number("extra", &s.extra, Positive, "set it").Or("7").With(If("mode", "slow")),
		Choice("mode", &s.mode, "choose", "fast", "slow"),
	}
	for problem, want := range map[string]settings{"": {8, 4, 5, "fast"}, "eo": {6, 3, 5, "fast"}} {
		if err := SetDefaults(options, lookup(map[string]string{"problem": problem})); err != nil || s != want {
			t.Errorf("%q: %+v, %v, want %+v", problem, s, err, want)
		}
	}
	if SetDefaults([]*Option{Number("x", &s.rate, Positive, "set it")}, lookup(nil)) == nil {
		t.Error("no error for an option without a default")
	}
}

func TestAutoChoice(t *testing.T) {
	word := "left"
	o := AutoChoice("word", &word, "choose", "left", "right")
	if o.Text() != "left" || o.Set("auto") != nil || word != "" || o.Text() != "auto" || o.Set("up") == nil {
		t.Errorf("%q, %s", word, o.Text())
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{"a/b-c.csv": "a/b-c.csv", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'", "größe": "größe", "x[1]": "'x[1]'"} {
		if got := ShellWord(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

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

func TestIsSize(t *testing.T) {
	for x, want := range map[float64]bool{
		0: true, 1e-300: true, 3: true, math.MaxFloat64: true,
		-1e-300: false, -1: false, math.Inf(1): false, math.Inf(-1): false, math.NaN(): false,
	} {
		if IsSize(x) != want {
			t.Errorf("IsSize(%v) = %v", x, !want)
		}
	}
}
