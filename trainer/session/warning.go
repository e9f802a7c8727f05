package session

import "ppal/trainer"

// The codes of the warnings of a session, beside those of package trainer.
const (
	WarnOneSided    trainer.WarningCode = "one-sided"    // the model decides every training row alike
	WarnFewPositive trainer.WarningCode = "few-positive" // the model decides few training rows as positive
	WarnUnmet       trainer.WarningCode = "unmet"        // no threshold meets all bounds on decisions
	WarnUnjudged    trainer.WarningCode = "unjudged"     // a group may be too small to judge a constraint
	WarnCost        trainer.WarningCode = "cost"         // the threshold costs much of the objective
	WarnPromise     trainer.WarningCode = "promise"      // a bound is not promised for new rows
	WarnTimeLimit   trainer.WarningCode = "time-limit"   // the limit ended before the first iteration
	WarnFiles       trainer.WarningCode = "files"        // a file of the run cannot be written
)

// coded returns warnings with a code.
func coded(code trainer.WarningCode, texts []string) (list trainer.Warnings) {
	for _, text := range texts {
		list = append(list, trainer.Warning{Code: code, Text: text})
	}
	return list
}
