package option

import "strconv"

// Counted returns a number with its noun: "1 row", "7 rows".
func Counted(n int, noun string) string {
	text := strconv.Itoa(n) + " " + noun
	if n != 1 {
		text += "s"
	}
	return text
}
