package option

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// value converts between text and the variable that an option is bound to.
type value interface {
	set(text string) error
	text() string
}

// number is the set of types that parse and format support.
type number interface{ ~float64 | ~int | ~uint64 }

// numberValue is a bound number. One word may mean 0.
type numberValue[T number] struct {
	field *T
	in    Interval
	word  string // the word for 0, which may lie outside the interval; "": no word
}

func (v *numberValue[T]) set(text string) error {
	if v.word != "" && text == v.word {
		*v.field = 0
		return nil
	}
	x, err := parse[T](text, v.in)
	if err != nil {
		if v.word != "" {
			return fmt.Errorf("%w, or %s", err, v.word)
		}
		return err
	}
	*v.field = x
	return nil
}

func (v *numberValue[T]) text() string {
	if v.word != "" && *v.field == 0 {
		return v.word
	}
	return format(*v.field)
}

func (v *numberValue[T]) limits() string { return v.in.words }
func (v *numberValue[T]) zero() bool     { return *v.field == 0 }

// parse parses a number and checks that it is in the interval.
func parse[T number](text string, in Interval) (T, error) {
	var x T
	var err error
	noun := "whole number"
	switch p := any(&x).(type) {
	case *float64:
		noun = "number"
		*p, err = strconv.ParseFloat(text, 64)
	case *int:
		*p, err = strconv.Atoi(text)
	case *uint64:
		if *p, err = strconv.ParseUint(text, 10, 64); err != nil && strings.HasPrefix(text, "-") {
			if _, negative := strconv.ParseInt(text, 10, 64); negative == nil {
				return x, errors.New("must be at least 0")
			}
		}
	}
	switch f := float64(x); {
	case errors.Is(err, strconv.ErrRange):
		return x, fmt.Errorf("out of the range of a %s", noun)
	case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
		return x, fmt.Errorf("must be %s", in.noun(noun))
	case in.contains != nil && !in.contains(f):
		return x, fmt.Errorf("must be %s", in.words)
	}
	return x, nil
}

// noun returns the description of a value of the interval: "a positive number", "a whole number, at
// least 1".
func (i Interval) noun(noun string) string {
	switch {
	case i.words == "":
		return "a finite " + noun
	case i.words == Positive.words:
		return "a positive " + noun
	}
	return "a " + noun + ", " + i.words
}

// format returns the text that parse reads as x.
func format[T number](x T) string {
	switch x := any(x).(type) {
	case float64:
		return Float(x)
	case uint64:
		return strconv.FormatUint(x, 10)
	}
	return strconv.Itoa(int(x))
}

// numbersValue is a bound list of numbers.
type numbersValue[T number] struct {
	field *[]T
	in    Interval
}

func (v *numbersValue[T]) set(text string) error {
	var list []T
	for _, part := range split(text) {
		x, err := parse[T](part, v.in)
		if err != nil {
			if strings.Contains(text, ",") {
				return fmt.Errorf("each value %w", err)
			}
			return err
		}
		list = append(list, x)
	}
	*v.field = list
	return nil
}

func (v *numbersValue[T]) text() string {
	parts := make([]string, len(*v.field))
	for i, x := range *v.field {
		parts[i] = format(x)
	}
	return strings.Join(parts, ",")
}

func (v *numbersValue[T]) limits() string { return v.in.words }
func (v *numbersValue[T]) several()       {}

// explicitValue is a bound number whose field has 0 for the program's default, which a word may
// name. A number below 0 stands for 0.
type explicitValue[T int | float64] struct{ numberValue[T] }

func (v *explicitValue[T]) set(text string) error {
	if err := v.numberValue.set(text); err != nil {
		return err
	}
	if *v.field == 0 && (v.word == "" || text != v.word) {
		*v.field = -1
	}
	return nil
}

func (v *explicitValue[T]) text() string {
	if *v.field < 0 {
		return "0"
	}
	return v.numberValue.text()
}

// pairValue is a bound pair of numbers, the first at most the second.
type pairValue struct{ low, high *float64 }

func (v *pairValue) set(text string) error {
	var list []float64
	if err := (&numbersValue[float64]{field: &list}).set(text); err != nil {
		return err
	}
	if len(list) != 2 || list[0] > list[1] {
		return errors.New("must be LO,HI with LO at most HI")
	}
	*v.low, *v.high = list[0], list[1]
	return nil
}

func (v *pairValue) text() string { return format(*v.low) + "," + format(*v.high) }
func (v *pairValue) several()     {}
func (v *pairValue) zero() bool   { return *v.low == 0 && *v.high == 0 }

// split returns the values of a comma-separated list, without the spaces around them.
func split(text string) []string {
	parts := strings.Split(text, ",")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return parts
}

// splitNames returns the texts of a comma-separated list, without the spaces around them. A text
// may stand in double quotes, as in a CSV file: a comma inside is a part of the text, and two
// quotes are one.
func splitNames(text string) (names []string) {
	for rest := text; ; {
		rest = strings.TrimLeft(rest, " ")
		var name strings.Builder
		for strings.HasPrefix(rest, `"`) {
			inside, after, closed := strings.Cut(rest[1:], `"`)
			if !closed {
				break // an ordinary quote
			}
			name.WriteString(inside)
			if rest = after; strings.HasPrefix(rest, `"`) {
				name.WriteByte('"')
				continue
			}
			break
		}
		plain, after, more := strings.Cut(rest, ",")
		names = append(names, name.String()+strings.TrimRight(plain, " "))
		if rest = after; !more {
			return names
		}
	}
}

// JoinNames returns the list that splitNames splits into the names.
func JoinNames(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = name
		if name == "" || strings.Contains(name, ",") || name != strings.TrimSpace(name) || name[0] == '"' {
			quoted[i] = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
	}
	return strings.Join(quoted, ",")
}

// ShellWord returns a text as a word of a shell's command line, in quotes if it needs them.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:=,@%+", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// namesValue is a bound list of texts.
type namesValue struct{ field *[]string }

func (v *namesValue) set(text string) error {
	*v.field = nil
	if text != "" {
		*v.field = splitNames(text)
	}
	return nil
}

func (v *namesValue) text() string { return JoinNames(*v.field) }
func (v *namesValue) several()     {}

// textValue is a bound text.
type textValue struct{ field *string }

func (v *textValue) set(text string) error {
	*v.field = text
	return nil
}

func (v *textValue) text() string { return *v.field }

// switchValue is a bound bool with a flag that needs no value.
type switchValue struct{ field *bool }

func (v *switchValue) set(text string) error {
	if text != "true" && text != "false" {
		return errors.New("must be true or false")
	}
	*v.field = text == "true"
	return nil
}

func (v *switchValue) text() string { return strconv.FormatBool(*v.field) }

// choiceValue is a bound variable whose value is one of several words.
type choiceValue struct {
	words []string
	get   func() string
	put   func(word string)
}

func (v *choiceValue) set(text string) error {
	if slices.Contains(v.words, text) {
		v.put(text)
		return nil
	}
	choices := List(v.words, "or")
	if near := Nearest(text, v.words); near != "" {
		return fmt.Errorf("unknown; did you mean %s? (choose %s)", near, choices)
	}
	return fmt.Errorf("unknown; choose %s", choices)
}

func (v *choiceValue) text() string      { return v.get() }
func (v *choiceValue) choices() []string { return v.words }

// customValue is a bound variable that put and get convert from and to text.
type customValue struct {
	words []string // for completion
	put   func(text string) error
	get   func() string
}

func (v *customValue) set(text string) error { return v.put(text) }
func (v *customValue) text() string          { return v.get() }
func (v *customValue) choices() []string     { return v.words }
