package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print version information",
		Example: "  ppal version",
		Args:    noArguments,
		RunE: a.command(func(*cobra.Command, []string) error {
			fmt.Fprintf(a.stdout, "ppal %s\n%s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			for _, module := range []string{"gorgonia.org/gorgonia", "gorgonia.org/tensor", "gonum.org/v1/gonum"} {
				fmt.Fprintf(a.stdout, "%s %s\n", module, moduleVersion(module))
			}
			return nil
		}),
	}
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
