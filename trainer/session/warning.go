package session

import (
	"ppal/trainer"
	"ppal/trainer/session/internal/measure"
)

// The codes of the warnings of a session, in addition to the codes of package trainer.
const (
	WarnOneSided                        = measure.WarnOneSided    // the model decides every training row alike
	WarnFewPositive                     = measure.WarnFewPositive // the model decides few training rows as positive
	WarnUnmet                           = measure.WarnUnmet       // no threshold meets all bounds on decisions
	WarnUnjudged                        = measure.WarnUnjudged    // a group may be too small to judge a constraint
	WarnCost                            = measure.WarnCost        // the threshold costs much of the objective
	WarnPromise                         = measure.WarnPromise     // a bound is not promised for new rows
	WarnTimeLimit   trainer.WarningCode = "time-limit"            // the limit ended before the first iteration
	WarnFiles       trainer.WarningCode = "files"                 // a file of the run cannot be written
)
