package study

// Ruling says whether measurements support a claim.
type Ruling string

// The rulings.
const (
	Confirmed    Ruling = "confirmed"
	NotConfirmed Ruling = "not confirmed"
	NotJudged    Ruling = "not judged" // a number that could decide the claim is missing
)

// Ruled returns Confirmed or NotConfirmed.
func Ruled(yes bool) Ruling {
	if yes {
		return Confirmed
	}
	return NotConfirmed
}

// Verdict is the ruling on a claim, with the numbers behind it.
type Verdict struct {
	Ruling  Ruling
	Numbers string
}
