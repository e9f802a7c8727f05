package study

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mostSeeds is the largest number of seeds of a comparison.
const mostSeeds = 10_000

// ParseSeeds reads the seeds of a comparison: a number N is 1 to N, and a list has numbers and
// ranges, as in "11-20" or "1,5,11-20". The error, for the user, does not name the flag.
func ParseSeeds(text string) ([]uint64, error) {
	if !strings.ContainsAny(text, ",-") {
		text = "1-" + text
	}
	var seeds []uint64
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			high = low
		}
		from, err := strconv.ParseUint(low, 10, 64)
		to, err2 := strconv.ParseUint(high, 10, 64)
		switch {
		case err != nil || err2 != nil || from < 1 || to < from:
			return nil, fmt.Errorf("must be a number of seeds, or a list of seeds from 1 on, as in 5, 11-20 or 1,4,11-20")
		case to-from >= mostSeeds || uint64(len(seeds))+to-from >= mostSeeds:
			return nil, fmt.Errorf("has more than %d seeds", mostSeeds)
		}
		for seed := from; seed <= to; seed++ {
			if slices.Contains(seeds, seed) {
				return nil, fmt.Errorf("has the seed %d twice", seed)
			}
			seeds = append(seeds, seed)
		}
	}
	return seeds, nil
}

// seedText returns the seeds as a list of numbers and ranges: "1-5, 11".
func seedText(seeds []uint64) string {
	var parts []string
	for i := 0; i < len(seeds); {
		j := i + 1
		for j < len(seeds) && seeds[j] == seeds[j-1]+1 {
			j++
		}
		part := fmt.Sprint(seeds[i])
		if j-i > 1 {
			part += fmt.Sprintf("-%d", seeds[j-1])
		}
		parts = append(parts, part)
		i = j
	}
	return strings.Join(parts, ", ")
}

// seedFlag returns the seeds as ParseSeeds reads them.
func seedFlag(seeds []uint64) string {
	if len(seeds) == 1 { // a number alone is a number of seeds
		return fmt.Sprintf("%d-%d", seeds[0], seeds[0])
	}
	return strings.ReplaceAll(seedText(seeds), " ", "")
}
