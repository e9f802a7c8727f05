package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/session"
)

// TestCommands runs the command lines of testdata/commands.txt in one directory.
//
//	ppal ARGUMENTS   runs the program; the input is its standard input
//	file NAME        writes the input to a file
//	rows NAME        writes a header, the input's rows twenty times, and the rows after a line "and"
//
// The output has standard output, standard error and the exit status. The directory has a run of
// membersRun, with the name run.
func TestCommands(t *testing.T) {
	path := require.Value(filepath.Abs("testdata/commands.txt"))(t)
	run := membersRun(t)
	t.Chdir(t.TempDir())
	require.NoError(t, os.CopyFS("run", os.DirFS(run)))
	require.Cases(t, path, func(t *testing.T, c *require.Case) string {
		text := c.Input
		switch c.Command {
		case "ppal":
			got := commandOn(t.Context(), func(a *app) { a.open, a.stdin = session.New, strings.NewReader(c.Input) }, c.Args...)
			return fmt.Sprintf("%s%sexit status %d\n", got.stdout, settled(got.stderr), got.status)
		case "rows":
			header, rest, _ := strings.Cut(c.Input, "\n")
			repeated, last, _ := strings.Cut(rest, "and\n")
			text = header + "\n" + strings.Repeat(repeated, 20) + last
		case "file":
		default:
			t.Fatal("unknown command")
		}
		require.NoError(t, os.WriteFile(c.Args[0], []byte(text), 0o644))
		return ""
	})
}
