package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// interval is a range of finite numbers; the zero value is all of them.
type interval struct {
	words    string // how a message says it
	contains func(x float64) bool
}

func positive() interval {
	return interval{"a positive number", func(x float64) bool { return x > 0 }}
}

func atLeast(low float64) interval {
	return interval{fmt.Sprintf("a number of at least %g", low), func(x float64) bool { return x >= low }}
}

func between(low, high float64) interval {
	return interval{fmt.Sprintf("a number in (%g, %g)", low, high), func(x float64) bool { return low < x && x < high }}
}

func upTo(low, high float64) interval {
	return interval{fmt.Sprintf("a number in (%g, %g]", low, high), func(x float64) bool { return low < x && x <= high }}
}

// check refuses a text that is no value of the field's type, or numbers outside the interval.
func (r interval) check(field any, text string) error {
	words := r.words
	number, list := "a finite number", false
	whole := false
	switch field.(type) {
	case *string, *[]string:
		return nil
	case *bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("is %q, want true or false", text)
		}
		return nil
	case *int, *uint64:
		number, whole = "a whole number", true
	case *[]int:
		number, whole, list = "a whole number", true, true
	case *[]float64:
		list = true
	}
	if words == "" {
		words = number
	} else if whole {
		words = strings.Replace(words, "a number", "a whole number", 1)
		words = strings.Replace(words, "a positive number", "a positive whole number", 1)
	}
	if list {
		words += ", or several separated by commas"
	}
	for _, part := range split(text, list) {
		x, err := strconv.ParseFloat(part, 64)
		if whole && err == nil {
			_, err = strconv.ParseInt(part, 10, 64)
			if _, unsigned := field.(*uint64); unsigned {
				_, err = strconv.ParseUint(part, 10, 64)
			}
		}
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("is %s, which is out of range; want %s", text, words)
		}
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || r.contains != nil && !r.contains(x) {
			return fmt.Errorf("is %s, want %s", shown(text), words)
		}
	}
	return nil
}

// shown quotes a text that is no number.
func shown(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return strconv.Quote(text)
}

func split(text string, list bool) []string {
	if !list {
		return []string{text}
	}
	parts := strings.Split(text, ",")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return parts
}

// parse writes a checked text to a field.
func parse(field any, text string) (err error) {
	switch f := field.(type) {
	case *string:
		*f = text
	case *[]string:
		*f = nil
		if text != "" {
			*f = split(text, true)
		}
	case *bool:
		*f = text == "true"
	case *int:
		*f, err = strconv.Atoi(text)
	case *uint64:
		*f, err = strconv.ParseUint(text, 10, 64)
	case *float64:
		*f, err = strconv.ParseFloat(text, 64)
	case *[]int:
		*f = nil
		for _, part := range split(text, true) {
			x, e := strconv.Atoi(part)
			*f, err = append(*f, x), e
		}
	case *[]float64:
		*f = nil
		for _, part := range split(text, true) {
			x, e := strconv.ParseFloat(part, 64)
			*f, err = append(*f, x), e
		}
	default:
		panic(fmt.Sprintf("config: a field of type %T", field))
	}
	return err
}

// format is the inverse of parse: numbers keep every digit.
func format(field any) string {
	switch f := field.(type) {
	case *string:
		return *f
	case *bool:
		return strconv.FormatBool(*f)
	case *int:
		return strconv.Itoa(*f)
	case *uint64:
		return strconv.FormatUint(*f, 10)
	case *float64:
		return number(*f)
	case *[]string:
		return strings.Join(*f, ",")
	case *[]int:
		return join(*f, strconv.Itoa)
	case *[]float64:
		return join(*f, number)
	}
	panic(fmt.Sprintf("config: a field of type %T", field))
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func join[T any](list []T, text func(T) string) string {
	parts := make([]string, len(list))
	for i, x := range list {
		parts[i] = text(x)
	}
	return strings.Join(parts, ",")
}
