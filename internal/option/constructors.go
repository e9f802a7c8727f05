package option

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Number describes a number of the interval.
func Number(name string, field *float64, in Interval, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: "X", required: true, value: &numberValue[float64]{field: field, in: in}}
}

// NumberOr describes a number of the interval, or a word that means 0, such as auto or none. The
// word is the default.
func NumberOr(name string, field *float64, in Interval, word, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: "X|" + word, fallback: word,
		value: &numberValue[float64]{field: field, in: in, word: word}}
}

// CountOr describes a whole number of the interval, or a word that means 0, such as auto. The word
// is the default.
func CountOr(name string, field *int, in Interval, word, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: "N|" + word, fallback: word,
		value: &numberValue[int]{field: field, in: in, word: word}}
}

// Explicit describes a whole number, at least 0, in a field whose value 0 means the program's
// default. The field of a given 0 is -1.
func Explicit(name string, field *int, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: "N", required: true,
		value: &explicitValue[int]{numberValue[int]{field: field, in: AtLeast(0)}}}
}

// ExplicitOr is Explicit with a word for the program's default.
func ExplicitOr(name string, field *int, word, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: "N|" + word, required: true,
		value: &explicitValue[int]{numberValue[int]{field: field, in: AtLeast(0), word: word}}}
}

// ExplicitNumberOr is ExplicitOr for a number.
func ExplicitNumberOr(name string, field *float64, word, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: "X|" + word, required: true,
		value: &explicitValue[float64]{numberValue[float64]{field: field, in: AtLeast(0), word: word}}}
}

// Count describes a whole number of the interval.
func Count(name string, field *int, in Interval, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: "N", required: true, value: &numberValue[int]{field: field, in: in}}
}

// Seed describes the seed of random numbers.
func Seed(name string, field *uint64, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: "N", required: true,
		value: &numberValue[uint64]{field: field, in: AtLeast(0)}}
}

// Numbers describes a list of numbers of the interval.
func Numbers(name string, field *[]float64, in Interval, placeholder, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: placeholder, required: true, value: &numbersValue[float64]{field, in}}
}

// Range describes a lower and an upper bound.
func Range(name string, low, high *float64, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: "LO,HI", required: true, value: &pairValue{low, high}}
}

// Counts describes a list of whole numbers of the interval.
func Counts(name string, field *[]int, in Interval, placeholder, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: placeholder, required: true, value: &numbersValue[int]{field, in}}
}

// Names describes a list of texts.
func Names(name string, field *[]string, placeholder, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: placeholder, value: &namesValue{field}}
}

// Statements describes a list of sentences in a formal language. A repeated flag adds sentences,
// and a semicolon separates sentences in one text. read reads a sentence, whose canonical text is
// that of its method String.
func Statements[T fmt.Stringer](name string, field *[]T, placeholder, help string, read func(text string) (T, error)) *Option {
	return &Option{Name: name, Help: help, placeholder: placeholder, required: true, value: &statementsValue[T]{field, read}}
}

// Text describes any text, such as a path.
func Text(name string, field *string, placeholder, help string) *Option {
	return &Option{Name: name, Help: help, placeholder: placeholder, required: true, value: &textValue{field}}
}

// Switch describes a switch, which is off by default.
func Switch(name string, field *bool, help string) *Option {
	return &Option{Name: name, Help: help, fallback: "false", value: &switchValue{field}}
}

// Choice describes one of several words; the first is the default.
func Choice[T ~string](name string, field *T, help string, words ...T) *Option {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return choice(name, help, &choiceValue{words: texts,
		get: func() string { return string(*field) }, put: func(word string) { *field = T(word) }})
}

// AutoChoice describes one of several words, or auto. The default is auto, which is stored as "".
func AutoChoice[T ~string](name string, field *T, help string, words ...T) *Option {
	texts := []string{auto}
	for _, w := range words {
		texts = append(texts, string(w))
	}
	return choice(name, help, &choiceValue{words: texts,
		get: func() string {
			if *field == "" {
				return auto
			}
			return string(*field)
		},
		put: func(word string) {
			if *field = T(word); word == auto {
				*field = ""
			}
		}})
}

// auto is the word for a value that the program chooses.
const auto = "auto"

// Enum describes a number with a word for each value from 0 on, in the order of the numbers. The
// first word is the default.
func Enum[T ~int](name string, field *T, help string, words ...string) *Option {
	return choice(name, help, &choiceValue{words: words,
		get: func() string {
			if *field < 0 || int(*field) >= len(words) {
				return strconv.Itoa(int(*field)) // a program's mistake, which its errors report
			}
			return words[*field]
		}, put: func(word string) { *field = T(slices.Index(words, word)) }})
}

// Either describes a bool with a word for each value: off for false, the default, and on for true.
func Either(name string, field *bool, off, on, help string) *Option {
	return choice(name, help, &choiceValue{words: []string{off, on},
		get: func() string {
			if *field {
				return on
			}
			return off
		},
		put: func(word string) { *field = word == on }})
}

// Words describes one of several words that get and put translate. The first word is the default.
func Words(name string, get func() string, put func(word string), help string, words ...string) *Option {
	return choice(name, help, &choiceValue{words: words, get: get, put: put})
}

// Through binds a choice of words to other functions: get returns the word, and put sets it.
func (o *Option) Through(get func() string, put func(word string)) *Option {
	v := o.value.(*choiceValue)
	v.get, v.put = get, put
	return o
}

func choice(name, help string, v *choiceValue) *Option {
	return &Option{Name: name, Help: help, placeholder: strings.Join(v.words, "|"), fallback: v.words[0], value: v}
}

// Custom describes a value with its own text form. put stores a text, or returns what the value
// must be. get returns the text. choices are the words for completion.
func Custom(name, placeholder string, put func(text string) error, get func() string, help string, choices ...string) *Option {
	return &Option{Name: name, Help: help, placeholder: placeholder, required: true,
		value: &customValue{words: choices, put: put, get: get}}
}

// As replaces the placeholder in the help.
func (o *Option) As(placeholder string) *Option {
	o.placeholder = placeholder
	return o
}
