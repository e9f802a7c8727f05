//go:build !gpu

package cmd

import "github.com/spf13/cobra"

// gpuCheckCommand returns a command that says how to build a program with the check. This build
// does not contain the check.
func (a *app) gpuCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "gpu-check",
		Hidden:             true,
		Short:              "Compare the GPU with the CPU, and measure its speed",
		DisableFlagParsing: true,
		RunE: a.command(func(*cobra.Command, []string) error {
			_, err := a.gpus.open(0)
			return err
		}),
	}
}
