// Package verify recomputes the claims of a run from its weights and its data, and compares them
// with the run's files.
//
// The evaluation uses plain loops over rows in float64: the layers of the model, the losses and
// rates with their derivatives, the reverse pass, and the residuals of the KKT conditions. It uses
// neither the graph nor the plan, the devices or the kernels that trained. The exceptions are an
// architecture other than models.Spec, and an objective that a program defines, which Gorgonia's
// machine evaluates. The CPU device computes the scores and the derivatives of an architecture. On
// some rows, it must agree with models.Predict and Gorgonia's machine; Report.Skipped has their
// number. Run reads the text of a constraint in words itself and counts its rates by its own loops.
// Run shares some code with the training: the readers of the data and of the run's files, the
// statement of the smooth problem (bounds, groups, cells), the words of the verdict, the formulas
// of intervals and promises from counts, and the writers of preparation.yaml, rows.csv and
// model.json, which Run writes again and compares byte by byte.
//
// Every claim of the files is compared, or listed in Report.Skipped by its key.
//
// # Tolerances
//
// The certificate of a run is computed in float64, at the weights of the training loop. The file of
// the weights holds the same numbers, except for two roundings to the file's type: the
// normalization of pictures is folded into the first layer, and the threshold of bounds on
// decisions into the last bias. Without these roundings, the objective, the constraints and the
// certificate must agree to 1e-9 (1 + |value|), because only the order of the sums differs. With
// them, Run moves the weights of the file by random amounts of the size of the rounding, u|w| with
// u = 2^-24 or 2^-53, and allows 8 times the change that it measures.
//
// The records, and the measures of tasks with bounds on surrogates, come from the scores of the
// training device. Their error is at most e max(1, max |score|), where e depends on the products:
// see scoreError. A smooth measure may differ by the change that such an error of all scores can
// cause. A counted rate may differ by the rows whose decision the error can change. In most runs,
// the error changes none. Rates of bounds on decisions are counted on float64 scores; e is then the
// rounding of the folded weights.
package verify
