package option

import (
	"slices"
	"strings"
)

// Nearest returns the name with the smallest edit distance from word. Of several, it returns the
// first with the same letters as word in another order, else the first. It returns "" if the
// distance is larger than both 2 and a third of the word's length, or at least the word's length. A
// name that differs in upper and lower case alone comes before all others.
func Nearest(word string, names []string) string {
	for _, name := range names {
		if name != word && strings.EqualFold(name, word) {
			return name
		}
	}
	best, least := "", max(2, len(word)/3)+1
	for _, name := range names {
		d := distance(word, name)
		if d < len(word) && (d < least || d == least && letters(name) == letters(word) && letters(best) != letters(word)) {
			best, least = name, d
		}
	}
	return best
}

// letters returns the letters of a word in the alphabet's order.
func letters(word string) string {
	sorted := []byte(word)
	slices.Sort(sorted)
	return string(sorted)
}

// distance returns the Levenshtein distance. An exchange of two neighbouring letters counts as one
// change.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j]+change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
