package ranks

import (
	"hash/fnv"
	"os"
)

// Neighbours returns the number n of processes with the host name of this process, and the place of
// this process among them, from 0, in the order of the ranks. All processes call Neighbours.
func Neighbours(c Collective) (place, n int, err error) {
	name, _ := os.Hostname() // without a name, all processes count
	return neighbours(c, name)
}

func neighbours(c Collective, name string) (place, n int, err error) {
	h := fnv.New64a()
	h.Write([]byte(name))
	names := make([]float64, c.Size())
	own := float64(h.Sum64() >> 11) // 53 bits
	names[c.Rank()] = own
	if err := c.Sum(names); err != nil {
		return 0, 0, err
	}
	for rank, other := range names {
		if other == own {
			n++
			if rank < c.Rank() {
				place++
			}
		}
	}
	return place, n, nil
}
