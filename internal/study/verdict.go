package study

// Ruling says whether measurements support a claim.
type Ruling string

// The rulings.
const (
	Confirmed    Ruling = "confirmed"
	NotConfirmed Ruling = "not confirmed"
	// CannotTell: the measurements agree with the claim and with its opposite, or a number is
	// missing that could decide the claim.
	CannotTell Ruling = "cannot be told"
)

// Ruled returns Confirmed or NotConfirmed.
func Ruled(yes bool) Ruling {
	if yes {
		return Confirmed
	}
	return NotConfirmed
}

// Both returns the ruling on a claim that two claims make up.
func Both(a, b Ruling) Ruling {
	switch {
	case a == NotConfirmed || b == NotConfirmed:
		return NotConfirmed
	case a == CannotTell || b == CannotTell:
		return CannotTell
	}
	return Confirmed
}

// Verdict is the ruling on a claim, with the numbers behind it.
type Verdict struct {
	Ruling  Ruling
	Numbers string
}
