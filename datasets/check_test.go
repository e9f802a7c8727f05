package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/tabular"
	"ppal/internal/datatest"
)

func states(r *Report) []State {
	var out []State
	for _, f := range r.Files {
		out = append(out, f.State)
	}
	return out
}

func TestCheckSynthetic(t *testing.T) {
	require.NoRace(t, "TestSyntheticTwice draws with the same goroutines")
	report := require.Value(Check(context.Background(), "", "synthetic", tabular.TableOptions{Seed: 1}))(t)
	want := &Counts{Rows: 7200, PerClass: []int{1200, 1200, 1200, 1200, 1200, 1200}}
	if diff := cmp.Diff(want, report.Train); diff != "" || len(report.Files)+len(report.Warnings) > 0 {
		t.Errorf("%s %v %v", diff, report.Files, report.Warnings)
	}
}

func TestCheckFashion(t *testing.T) {
	dir := writeFashion(t, 20)
	packed := filepath.Join(dir, "fashion-mnist/t10k-labels-idx1-ubyte.gz")
	require.NoError(t, os.Remove(packed))
	report, err := Check(context.Background(), dir, "fashion-mnist", tabular.TableOptions{Seed: 0})
	datatest.CheckError(t, err, fs.ErrNotExist, packed)
	if diff := cmp.Diff([]State{Different, Different, Different, Missing}, states(report)); diff != "" {
		t.Error(diff)
	}
	datatest.Write(t, dir, "fashion-mnist/t10k-labels-idx1-ubyte", datatest.IDX(make([]byte, 20), 20))
	report = require.Value(Check(context.Background(), dir, "fashion-mnist", tabular.TableOptions{Seed: 0}))(t)
	if diff := cmp.Diff([]State{Different, Different, Different, Unverified}, states(report)); diff != "" {
		t.Error(diff)
	}
	warnings := []string{
		"3 of 4 files of fashion-mnist differ from the published files: results are not comparable with published results.",
		"1 of 4 files of fashion-mnist are decompressed copies without a published checksum: they may differ from the published files.",
	}
	if diff := cmp.Diff(warnings, report.Warnings); diff != "" {
		t.Error(diff)
	}
	for _, f := range report.Files {
		data, err := os.ReadFile(filepath.Join(dir, f.File.Path))
		if sum := sha256.Sum256(data); err != nil || f.SHA256 != hex.EncodeToString(sum[:]) || f.Size != int64(len(data)) {
			t.Errorf("%s: sha256 %s of %d bytes, %v", f.File.Path, f.SHA256, f.Size, err)
		}
	}
	if report.Test.PerClass[0] != 20 || report.Train.PerClass[9] != 2 {
		t.Errorf("train %v, test %v", report.Train, report.Test)
	}
}

func TestCheckCIFAR(t *testing.T) {
	dir := t.TempDir()
	datatest.Write(t, dir, cifarArchive, archive(cifarFiles(), batchNames...))
	report, err := Check(context.Background(), dir, "cifar10", tabular.TableOptions{Seed: 0})
	require.NoError(t, err)
	if diff := cmp.Diff([]State{Different}, states(report)); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"1 of 1 files of cifar10 differ from the published files: results are not comparable with published results.",
		"Only the classes [0 1 2 3 9] of cifar10 have training rows.",
	}
	if diff := cmp.Diff(want, report.Warnings); diff != "" {
		t.Error(diff)
	}
	report, err = Check(context.Background(), t.TempDir(), "cifar10", tabular.TableOptions{Seed: 0})
	if !errors.Is(err, fs.ErrNotExist) || report.Files[0].State != Missing {
		t.Errorf("%v, %v", err, report)
	}
}

// TestVerifyStates checks the files and the warnings of Verify without files, with an unpacked
// folder, and with files of the user.
func TestVerifyStates(t *testing.T) {
	ctx := context.Background()
	report, err := Verify(ctx, t.TempDir(), "fashion-mnist")
	require.NoError(t, err)
	if diff := cmp.Diff([]State{Missing, Missing, Missing, Missing}, states(report)); diff != "" || len(report.Warnings) > 0 {
		t.Errorf("%s warnings %q", diff, report.Warnings)
	}
	dir := t.TempDir()
	for name, data := range cifarFiles() {
		datatest.Write(t, dir, cifarFolder+"/"+name, data)
	}
	if report, err = Verify(ctx, dir, "cifar10"); err != nil || len(report.Files) != 6 || report.Files[5].Size != 2*cifarRecord {
		t.Errorf("an unpacked folder: %+v, %v", report, err)
	}
	datatest.Write(t, dir, "set/file.bin", fetchBody)
	status, err := checkFile(ctx, dir, published())
	if want := (FileStatus{File: published(), State: Original, Size: published().Size, SHA256: published().SHA256}); err != nil || !cmp.Equal(status, want) {
		t.Errorf("a published file: %+v, %v", status, err)
	}
	if report, err := Verify(ctx, "", "csv"); err == nil {
		t.Errorf("no file of the user: %+v", report)
	}
	first, second := datatest.Write(t, dir, "a.csv", []byte("a,b\n1,2\n")), datatest.Write(t, dir, "b.csv", []byte("a\n"))
	if report, err = Verify(ctx, "", "csv", first, second); err != nil || len(report.Files) != 2 || report.Files[0].Size != 8 || report.Files[1].State != Unverified {
		t.Errorf("two files of the user: %+v, %v", report, err)
	}
}

// TestCheckTable checks that the report on a table has the table and its warnings, also if the
// table cannot be read.
func TestCheckTable(t *testing.T) {
	var text strings.Builder
	text.WriteString("number,x,y\n")
	for i := range 40 {
		fmt.Fprintf(&text, "%d,%d,%s\n", i, i*i%7, []string{"no", "yes"}[i%2])
	}
	path := datatest.Write(t, t.TempDir(), "own.csv", []byte(text.String()))
	report, err := Check(context.Background(), "", "csv", tabular.TableOptions{File: path, Label: "y"})
	require.NoError(t, err)
	if report.Tables == nil || report.Tables.Train.Rows() != 28 {
		t.Errorf("tables %+v", report.Tables)
	}
	if len(report.Tables.Warnings) != 1 || len(report.Warnings) != 1 || report.Warnings[0] != report.Tables.Warnings[0] {
		t.Errorf("warnings %q of the table, %q of the report", report.Tables.Warnings, report.Warnings)
	}
	report, err = Check(context.Background(), "", "csv", tabular.TableOptions{File: path, Label: "z"})
	if err == nil || report == nil || len(report.Files) != 1 || report.Tables != nil {
		t.Errorf("a label that is not a column: %+v, %v", report, err)
	}
}
