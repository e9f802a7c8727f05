package rates

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppal/datasets/tabular"
)

// TestNDCG checks values by hand: the order of equal scores, a query without a relevant document,
// and a query with fewer documents than k.
func TestNDCG(t *testing.T) {
	q := &tabular.Queries{Names: []string{"a", "b", "c"}, Of: []int32{0, 1, 0, 0, 1, 2}, Grades: []uint8{0, 0, 2, 1, 0, 1}}
	scores := []float64{5, 1, 3, 5, 2, -1}
	// query a in the order of scores: grades 0, 1, 2; query c: grade 1 alone
	a := (1/math.Log2(3) + 3./2) / (3 + 1/math.Log2(3))
	if got, want := Gains(q, scores)[10], (a+1)/2; math.Abs(got-want) > 1e-15 {
		t.Errorf("NDCG@10 is %v, want %v", got, want)
	}
	// in the order of scores, the relevant documents are at the places 2, 6 and, with equal scores, 7
	long := &tabular.Queries{Names: []string{"a"}, Of: make([]int32, 12), Grades: []uint8{0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 3}}
	scores = []float64{9, 3, 8, 7, 6, 4, 5, 2, 2, 1, 1, 4}
	first, best := 1/math.Log2(3), 7+3/math.Log2(3)+1./2
	for k, want := range map[int]float64{5: first / best, 10: (first + 3/math.Log2(7) + 7/math.Log2(8)) / best} {
		if got := Gains(long, scores)[k]; math.Abs(got-want) > 1e-15 {
			t.Errorf("NDCG@%d is %v, want %v", k, got, want)
		}
	}
	if v := Gains(&tabular.Queries{Names: []string{"a"}, Of: []int32{0}, Grades: []uint8{0}}, []float64{1}); v != nil {
		t.Errorf("without relevant documents the NDCG is %v", v)
	}
}

// TestNDCGOfMQ2008 checks the NDCG of column 39 as the score.
func TestNDCGOfMQ2008(t *testing.T) {
	dir := os.Getenv("PPAL_DATA")
	if dir == "" {
		t.Skip("PPAL_DATA is not set")
	}
	q := &tabular.Queries{}
	var scores []float64
	for fold := 1; fold <= 5; fold++ {
		file, err := os.Open(filepath.Join(dir, "mq2008", fmt.Sprintf("S%d.txt", fold)))
		if err != nil {
			t.Skip(err)
		}
		defer file.Close()
		for in := bufio.NewScanner(file); in.Scan(); {
			fields := strings.Fields(in.Text())
			grade, _ := strconv.Atoi(fields[0])
			if len(q.Names) == 0 || q.Names[len(q.Names)-1] != fields[1] {
				q.Names = append(q.Names, fields[1])
			}
			at := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "39:") })
			score, _ := strconv.ParseFloat(strings.TrimPrefix(fields[at], "39:"), 64)
			q.Of, q.Grades, scores = append(q.Of, int32(len(q.Names)-1)), append(q.Grades, uint8(grade)), append(scores, score)
		}
	}
	if got := Gains(q, scores)[10]; math.Abs(got-0.688783) > 5e-7 {
		t.Errorf("NDCG@10 is %.6f", got)
	}
}
