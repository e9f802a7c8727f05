package config

import (
	"slices"
	"testing"
)

func TestConditions(t *testing.T) {
	if got := OnTables().String(); got != "--problem dp, eo, if or rates" {
		t.Error(got)
	}
	got, want := slices.Sorted(slices.Values(slices.Concat(onImages().Values, OnTables().Values))), slices.Sorted(slices.Values(problems()))
	if !slices.Equal(got, want) {
		t.Errorf("images and tables are %v, the problems %v", got, want)
	}
	if got := append(published(), OnRates().Values...); !slices.Equal(got, problems()) {
		t.Errorf("the published problems and those of rates are %v, the problems %v", got, problems())
	}
}
