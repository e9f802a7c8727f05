package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ppal/models/predictor"
)

// exportCommand returns the command `ppal export`, which writes a run's model as an ONNX file.
func (a *app) exportCommand() *cobra.Command {
	var file, weights, unknown string
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a trained model for other programs",
		Long: `Export writes the model of a run as an ONNX file, with the preparation of its rows and the rule of its decisions, in double
precision. ONNX Runtime computes the same decisions from it. Convolutions are in single precision, because ONNX Runtime has no
others: scores differ by about 1e-6 of the largest score.

Inputs of a table: one for each column, [rows, 1], doubles or strings; a missing number is NaN. Of LIBSVM rows: x, [rows,
indices]. Of pictures: pixels, bytes. Outputs: score and decision, or scores and class.`,
		Example: `  ppal export runs/20260101-120000-dp-alm --onnx model.onnx
  ppal export RUN --onnx model.onnx --unknown ignore`,
		Args: oneRun,
		RunE: a.once(func(_ *cobra.Command, args []string) error {
			if file == "" {
				return usage{errors.New("--onnx: give the file to write")}
			}
			ignore, err := ignoresUnknown(unknown)
			if err != nil {
				return err
			}
			m, err := a.loadModel(args[0], weights)
			if err != nil {
				return err
			}
			model, err := m.ONNX(predictor.ONNXOptions{IgnoreUnknown: ignore, Version: version()})
			if err != nil {
				return err
			}
			out, err := a.create(file)
			if err != nil {
				return fmt.Errorf("--onnx: %w", err)
			}
			defer out.discard()
			if _, err := out.Write(model); err != nil {
				return err
			}
			return out.commit()
		}),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&file, "onnx", "", "write an ONNX model to `FILE` (- is the standard output)")
	addWeights(cmd, &weights)
	addUnknown(cmd, &unknown)
	return cmd
}
