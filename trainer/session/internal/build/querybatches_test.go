package build

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// queriesOf returns the rows of queries whose rows lie in any order.
func queriesOf(sizes []int, seed uint64) (queries [][]int) {
	n := 0
	for _, size := range sizes {
		n += size
	}
	rows := rand.New(rand.NewPCG(seed, 1)).Perm(n)
	for _, size := range sizes {
		own := slices.Sorted(slices.Values(rows[:size]))
		queries, rows = append(queries, own), rows[size:]
	}
	return queries
}

// Batches have whole queries, every query once, about the same number of rows and a query with
// pairs each. The seed decides the batches. Batches of one query leave out queries without pairs.
func TestQueryBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		var sizes []int
		most := 0
		for range 1 + rng.IntN(40) {
			sizes = append(sizes, 1+rng.IntN(30))
			most = max(most, sizes[len(sizes)-1])
		}
		all := queriesOf(sizes, rng.Uint64())
		cut := rng.IntN(len(all) + 1)
		paired, others := all[:cut], all[cut:]
		count, seed := 1+rng.IntN(12), rng.Uint64()
		if cut > 0 && count >= cut {
			if batches := queryBatches(paired, others, count, seed); !slices.EqualFunc(batches, paired, slices.Equal) {
				t.Fatalf("%d batches of %d queries, with room for %d", len(batches), cut, count)
			}
			continue
		}
		batches := queryBatches(paired, others, count, seed)
		if again := queryBatches(paired, others, count, seed); !slices.EqualFunc(batches, again, slices.Equal) {
			t.Fatal("the same seed gives other batches")
		}
		if len(batches) > count || len(batches) == 0 {
			t.Fatalf("%d batches, want at most %d", len(batches), count)
		}
		batchOf, total := map[int]int{}, 0
		for b, rows := range batches {
			if !slices.IsSorted(rows) {
				t.Errorf("batch %d is not sorted", b)
			}
			for _, i := range rows {
				if _, known := batchOf[i]; known {
					t.Fatalf("row %d is twice in the batches", i)
				}
				batchOf[i] = b
			}
			total += len(rows)
		}
		with := make([]bool, len(batches))
		for k, rows := range all {
			for _, i := range rows {
				if b, in := batchOf[i]; !in || b != batchOf[rows[0]] {
					t.Fatalf("the query %d is torn apart", k)
				}
			}
			if k < cut || cut == 0 {
				with[batchOf[rows[0]]] = true
			}
		}
		if slices.Contains(with, false) {
			t.Error("a batch has no query with pairs")
		}
		if len(batches) == count {
			for b, rows := range batches {
				if mean := total / count; len(rows) > mean+2*most+2 {
					t.Errorf("batch %d has %d rows, the mean is %d and the largest query %d", b, len(rows), mean, most)
				}
			}
		}
	}
	queries := queriesOf(slices.Repeat([]int{5}, 30), 1)
	if slices.EqualFunc(queryBatches(queries, nil, 5, 1), queryBatches(queries, nil, 5, 2), slices.Equal) {
		t.Error("two seeds give the same batches")
	}
}

// A sample has whole queries, the share of them, and is part of a larger sample.
func TestSampleOfQueries(t *testing.T) {
	queries := queriesOf(slices.Repeat([]int{3, 8}, 20), 2)
	paired, others := queries[:30], queries[30:]
	small, large := sampleOfQueries(paired, others, 0.2, 7), sampleOfQueries(paired, others, 0.5, 7)
	counts := [2]int{}
	for _, rows := range queries {
		for k, sample := range [2][]int{small, large} {
			in := 0
			for _, i := range rows {
				if slices.Contains(sample, i) {
					in++
				}
			}
			if in != 0 && in != len(rows) {
				t.Error("a query is torn apart")
			}
			if in > 0 {
				counts[k]++
			}
		}
	}
	if counts != [2]int{6 + 2, 15 + 5} {
		t.Errorf("%d queries in the samples", counts)
	}
	for _, i := range small {
		if !slices.Contains(large, i) {
			t.Errorf("row %d is in the smaller sample alone", i)
		}
	}
	if slices.Equal(small, sampleOfQueries(paired, others, 0.2, 8)) {
		t.Error("two seeds give the same sample")
	}
}
