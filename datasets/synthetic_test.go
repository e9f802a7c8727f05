package datasets

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"ppal/internal/require"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/picture"
)

// TestSyntheticGolden checks that the bytes are the same on every machine: checksums of the default
// sets, and one complete image.
func TestSyntheticGolden(t *testing.T) {
	require.NoRace(t, "TestSyntheticTwice draws with the same goroutines")
	var got bytes.Buffer
	for _, seed := range []uint64{1, 2} {
		train, test := Synthetic(SyntheticConfig{Seed: seed})
		fmt.Fprintf(&got, "seed %d train %d rows sha256 %s\n", seed, train.Pixels.Rows, train.SHA256())
		fmt.Fprintf(&got, "seed %d test %d rows sha256 %s\n", seed, test.Pixels.Rows, test.SHA256())
		if seed == 1 {
			for row := range slices.Chunk(train.Pixels.Data[2*784:3*784], 28) {
				fmt.Fprintf(&got, "%3d\n", row)
			}
		}
	}
	require.Golden(t, "testdata/synthetic.golden", got.String())
}

func TestSyntheticPrefix(t *testing.T) {
	small, _ := Synthetic(SyntheticConfig{Seed: 3, TrainPerClass: 5, TestPerClass: 1})
	const sum = "df08ba143391c02a5d3528c29f1fed7a0b4be76dee4b170349a90675489f5882"
	if small.SHA256() != sum {
		t.Errorf("the checksum of 5 rows of each class is %s, want %s", small.SHA256(), sum)
	}
	large, _ := Synthetic(SyntheticConfig{Seed: 3, TrainPerClass: 9, TestPerClass: 1})
	if !bytes.HasPrefix(large.Pixels.Data, small.Pixels.Data) || !bytes.HasPrefix(large.Labels, small.Labels) {
		t.Error("more rows change the earlier ones")
	}
	other, _ := Synthetic(SyntheticConfig{Seed: 4, TrainPerClass: 5, TestPerClass: 1})
	if bytes.Equal(small.Pixels.Data, other.Pixels.Data) {
		t.Error("two seeds give the same pictures")
	}
}

func TestSyntheticSplitsDiffer(t *testing.T) {
	train, test := Synthetic(SyntheticConfig{Seed: 1, TrainPerClass: 20, TestPerClass: 20})
	seen := map[string]bool{}
	for _, set := range []*picture.Images{train, test} {
		for row := range slices.Chunk(set.Pixels.Data, set.Pixels.Cols) {
			if seen[string(row)] {
				t.Fatal("a picture occurs twice")
			}
			seen[string(row)] = true
		}
	}
	if diff := cmp.Diff([]int{20, 20, 20, 20, 20, 20}, test.Counts()) + cmp.Diff([]string{"O", "C", "S", "3", "2", "6"}, test.Classes); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkSynthetic(b *testing.B) {
	for b.Loop() {
		Synthetic(SyntheticConfig{Seed: 1})
	}
}

// The same set is drawn once, and a caller may change its copy.
func TestSyntheticTwice(t *testing.T) {
	want, _ := Synthetic(SyntheticConfig{Seed: 3})
	changed, _, err := LoadImages("", "synthetic", 3)
	require.NoError(t, err)
	clear(changed.Pixels.Data)
	clear(changed.Labels)
	clear(changed.Classes)
	again, _, err := LoadImages("", "synthetic", 3)
	require.NoError(t, err)
	other, _, err := LoadImages("", "synthetic", 4)
	require.NoError(t, err)
	if !slices.Equal(want.Pixels.Data, again.Pixels.Data) || !slices.Equal(want.Labels, again.Labels) || !slices.Equal(want.Classes, again.Classes) {
		t.Error("the second load of a set differs from the first")
	}
	if slices.Equal(want.Pixels.Data, other.Pixels.Data) {
		t.Error("two seeds have the same pictures")
	}
}
