package require

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the expected outputs in testdata again")

// separator stands between the input and the output of a case.
const separator = "----"

// Case is one case of a file.
type Case struct {
	Command string   // the first word
	Args    []string // the other words of the first line
	Input   string   // with the last line end

	comment  string // the lines before the case
	first    string // the first line
	text     string // the input as the file has it
	expected string
	line     int // of the first line, from 1
}

// Arg returns the value of the argument key=value, "" without such an argument.
func (c *Case) Arg(key string) string {
	for _, a := range c.Args {
		if value, ok := strings.CutPrefix(a, key+"="); ok {
			return value
		}
	}
	return ""
}

// List returns the values of an argument, which the value separates with semicolons.
func (c *Case) List(key string) []string {
	if value := c.Arg(key); value != "" {
		return strings.Split(value, ";")
	}
	return nil
}

// Has reports whether an argument is the word.
func (c *Case) Has(word string) bool { return slices.Contains(c.Args, word) }

// Cases calls run for each case of a text file in a subtest, which the number of the case's line
// names, and compares the returned text with the expected output.
// The format is that of the data-driven tests of CockroachDB and Pebble:
//
//	# A comment explains the cases that follow.
//	command argument key=value
//	the lines of the input
//	----
//	the lines of the expected output
//
// An argument with spaces is a Go string literal, also after the equals sign: key="a b". A blank
// line, or the end of the file, ends the output. An output with blank lines stands between two
// pairs of lines ----. In a case with the argument quoted, each line of the input is a Go string
// literal, for bytes that a text file cannot show. go test -update writes the outputs, and the
// golden files, again.
func Cases(t *testing.T, path string, run func(t *testing.T, c *Case) string) {
	t.Helper()
	list, rest := read(t, path)
	for _, c := range list {
		t.Run(fmt.Sprintf("line %d %s", c.line, c.Command), func(t *testing.T) {
			got := run(t, c)
			if got != "" && !strings.HasSuffix(got, "\n") {
				got += "\n"
			}
			if *update {
				c.expected = got
			} else if diff := cmp.Diff(c.expected, got); diff != "" {
				t.Errorf("%s:%d: %s (-want +got; -update writes the file again)\n%s", path, c.line, c.first, diff)
			}
		})
	}
	if *update {
		var b strings.Builder
		for _, c := range list {
			b.WriteString(c.String())
		}
		b.WriteString(rest)
		if err := os.WriteFile(path, []byte(strings.TrimRight(b.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// ReadCases returns the cases of a file, such as the seeds of a fuzz target.
func ReadCases(t testing.TB, path string) []*Case {
	t.Helper()
	list, _ := read(t, path)
	return list
}

// Golden compares a text or the bytes of a file with a golden file.
func Golden[T string | []byte](t testing.TB, path string, got T) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == string(got) {
		return
	}
	diff := fmt.Sprintf("%d bytes, want other %d bytes", len(got), len(want))
	if utf8.Valid(want) {
		diff = cmp.Diff(string(want), string(got))
	}
	t.Errorf("%s (-want +got; -update writes the file again)\n%s", path, diff)
}

// Update reports whether the test was called with -update.
func Update() bool { return *update }

// read returns the cases of a file, and the comments after the last one.
func read(t testing.TB, path string) (list []*Case, rest string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, rest, err = parse(string(data))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return list, rest
}

// parse splits the text of a file into cases.
func parse(text string) (list []*Case, comment string, err error) {
	lines := strings.SplitAfter(text, "\n")
	at := 0
	// until returns the lines before a line, and moves past the line.
	until := func(end string) (string, bool) {
		for begin := at; at < len(lines); at++ {
			if strings.TrimSuffix(lines[at], "\n") == end {
				at++
				return strings.Join(lines[begin:at-1], ""), true
			}
		}
		return "", false
	}
	for at < len(lines) {
		line := lines[at]
		at++
		if trimmed := strings.TrimSpace(line); trimmed == "" || strings.HasPrefix(trimmed, "#") {
			comment += line
			continue
		}
		c := &Case{comment: comment, first: strings.TrimSuffix(line, "\n"), line: at}
		comment = ""
		words, err := split(line)
		if err != nil {
			return nil, "", fmt.Errorf("line %d: %w", c.line, err)
		}
		c.Command, c.Args = words[0], words[1:]
		var ok bool
		if c.text, ok = until(separator); !ok {
			return nil, "", fmt.Errorf("line %d: no line %s follows", c.line, separator)
		}
		if at < len(lines) && lines[at] == separator+"\n" {
			at++
			c.expected, ok = until(separator)
			if second, _ := until(""); !ok || second != separator+"\n" {
				return nil, "", fmt.Errorf("line %d: no two lines %s end the output", c.line, separator)
			}
		} else if c.expected, ok = until(""); !ok {
			return nil, "", fmt.Errorf("line %d: no blank line ends the output", c.line)
		}
		if c.Input = c.text; c.Has("quoted") {
			if c.Input, err = unquoted(c.text); err != nil {
				return nil, "", fmt.Errorf("line %d: %w", c.line, err)
			}
		}
		list = append(list, c)
	}
	return list, comment, nil
}

// split returns the words of a line. A word, or a part of one, may be a Go string literal.
func split(line string) (words []string, err error) {
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimSpace(rest) {
		word := ""
		for rest != "" && !unicode.IsSpace(rune(rest[0])) {
			if rest[0] != '"' {
				word, rest = word+rest[:1], rest[1:]
				continue
			}
			literal, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("%s does not begin with a Go string literal", rest)
			}
			text, _ := strconv.Unquote(literal)
			word, rest = word+text, rest[len(literal):]
		}
		words = append(words, word)
	}
	return words, nil
}

// unquoted joins the strings whose Go literals are the lines.
func unquoted(text string) (string, error) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		s, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			return "", fmt.Errorf("%s is not a Go string literal", strings.TrimSpace(line))
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// String returns the case as in its file.
func (c *Case) String() string {
	output := c.expected + "\n"
	if strings.Contains("\n"+c.expected, "\n\n") {
		pair := separator + "\n"
		output = pair + c.expected + pair + pair + "\n"
	}
	return c.comment + c.first + "\n" + c.text + separator + "\n" + output
}
