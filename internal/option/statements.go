package option

import (
	"errors"
	"fmt"
	"strings"
)

// StatementSeparator separates statements in one text.
const StatementSeparator = "; "

// statements is a list of sentences in a formal language.
type statements interface{ isStatements() }

// statementsValue is a bound list of sentences in a formal language.
type statementsValue[T fmt.Stringer] struct {
	field *[]T
	read  func(text string) (T, error)
}

func (v *statementsValue[T]) set(text string) error {
	var list []T
	statements := SplitStatements(text)
	for _, s := range statements {
		one, err := v.read(s)
		switch {
		case err != nil && len(statements) > 1:
			return fmt.Errorf("%q: %w", s, err)
		case err != nil:
			return err
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return errors.New("is empty")
	}
	*v.field = list
	return nil
}

func (v *statementsValue[T]) text() string {
	texts := make([]string, len(*v.field))
	for i, s := range *v.field {
		texts[i] = s.String()
	}
	return strings.Join(texts, StatementSeparator)
}

func (v *statementsValue[T]) several()      {}
func (v *statementsValue[T]) isStatements() {}

// SplitStatements splits a text at semicolons and line ends outside double quotes. It leaves out
// empty statements.
func SplitStatements(text string) []string {
	var list []string
	quoted, from := false, 0
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++ // the next character is part of the name
		case c == '"':
			quoted = !quoted
		case (c == ';' || c == '\n') && !quoted:
			add(text[from:i])
			from = i + 1
		}
	}
	add(text[from:])
	return list
}
