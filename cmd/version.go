package cmd

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"ppal/internal/licenses"
)

func (a *app) versionCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print version information",
		Example: "  ppal version\n  ppal version --licenses",
		Args:    noArguments,
		RunE: a.command(func(*cobra.Command, []string) error {
			if all {
				_, err := io.WriteString(a.stdout, licenses.Text)
				return err
			}
			fmt.Fprintf(a.stdout, "ppal %s\n%s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			for _, module := range []string{"gorgonia.org/gorgonia", "gorgonia.org/tensor", "gonum.org/v1/gonum"} {
				fmt.Fprintf(a.stdout, "%s %s\n", module, moduleVersion(module))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&all, "licenses", false, "print the licences and notices of the software that the program links")
	return cmd
}

// version returns the module's version, with the commit if it is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	if revision := set["vcs.revision"]; len(revision) >= 12 && v == "(devel)" {
		v += " " + revision[:12]
		if set["vcs.modified"] == "true" {
			v += " modified"
		}
	}
	return v
}

// moduleVersion returns the version of a module in this program.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}
