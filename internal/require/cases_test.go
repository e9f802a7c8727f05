package require

import (
	"fmt"
	"strings"
	"testing"
)

// TestRun reads cases of all forms. The output of a case has all that the file says.
func TestRun(t *testing.T) {
	Cases(t, "testdata/forms.txt", func(t *testing.T, c *Case) string {
		switch c.Command {
		case "show":
			return fmt.Sprintf("args %q, key %q, list %q, word %v\ninput %q\n", c.Args, c.Arg("key"), c.List("list"), c.Has("word"), c.Input)
		case "echo":
			return c.Input
		case "parse":
			list, rest, err := parse(c.Input)
			if err != nil {
				return err.Error()
			}
			var b strings.Builder
			for _, c := range list {
				b.WriteString(c.String())
			}
			if got := b.String() + rest; strings.TrimRight(got, "\n") != strings.TrimRight(c.Input, "\n") {
				t.Errorf("%q is written as %q", c.Input, got)
			}
			return fmt.Sprintf("%d cases, then %q", len(list), rest)
		}
		return "unknown command"
	})
}
