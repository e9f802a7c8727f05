//go:build !gpu

package main

import "github.com/spf13/cobra"

// gpuCheckCommand says how to get a program that has the check: this build has neither the device nor what checks it.
func (a *app) gpuCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "gpu-check",
		Hidden:             true,
		Short:              "Compare the GPU with the CPU, and measure it",
		DisableFlagParsing: true,
		RunE: a.command(func(*cobra.Command, []string) error {
			_, err := a.gpus.open(0)
			return err
		}),
	}
}
