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

// Both returns the ruling on the conjunction of two claims: Confirmed only if both are.
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
