// Package decide trains under bounds on rates of decisions.
//
// A rate of decisions, such as a false positive rate, is a step function of the weights. The method
// has three parts.
//
// Surrogate: the smooth problem replaces every decision by the same function of the scores, in the
// objective and in the constraints: 1[s > 0] by 1/(1 + e^-s), 1[argmax s = k] by the softmax of s.
// Because the objective and the constraints use the same function, larger weights sharpen all rates
// together, and the smooth rates approach the rates of decisions.
//
// Feedback (Train): a round solves the smooth problem with the bounds shifted by c, counts the
// decisions' rates d beside the smooth rates h, and sets the next shift to c + theta ((h - d) - c).
// The next round starts from the weights, the multipliers and the step sizes of the last round.
// (The round after that of Feedback.Start, see below, starts from its last weights alone; with
// hidden layers, quasi-Newton steps also keep their model.) At a fixed point the decisions meet the
// bounds, and a bound that the decisions leave unused has a multiplier of zero: the conditions of
// Cotter et al., "Optimization with Non-Differentiable Constraints with Applications to Fairness,
// Recall, Churn, and Other Goals", JMLR 2019. Every round is a smooth problem with its own
// certificate, that of the loss (below) with another objective.
//
// The smooth error of several classes is flat at the start of a network's training. With two
// classes, the first steps may move the scores of all rows to the side of the larger class, where
// the sigmoids are flat. Before the feedback, a round may therefore minimise another term, the mean
// loss, under the same constraints (Feedback.Start). docs/reference/counted-decisions.md has
// the method.
//
// Exact step (Offsets): Offsets sorts the scores once and derives the rates of every threshold from
// the rates of the threshold before. The offset of the score is minus the best threshold that meets
// the bounds. With several classes, the exact step searches an offset for each class.
//
// Platt scaling (Platt) gives probabilities without a change of a decision.
package decide
