package ranks

import (
	"hash/fnv"
	"os"
)

// Neighbours returns the number of processes with the host name of this process. All processes call
// Neighbours.
func Neighbours(c Collective) (int, error) {
	name, _ := os.Hostname() // without a name, all processes count
	return neighbours(c, name)
}

func neighbours(c Collective, name string) (int, error) {
	h := fnv.New64a()
	h.Write([]byte(name))
	names := make([]float64, c.Size())
	own := float64(h.Sum64() >> 11) // 53 bits
	names[c.Rank()] = own
	if err := c.Sum(names); err != nil {
		return 0, err
	}
	n := 0
	for _, other := range names {
		if other == own {
			n++
		}
	}
	return n, nil
}
