package reproduce

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ppal/internal/cases"
	"ppal/internal/compare"
)

// block matches the part of a page that is written from the journal of an experiment.
var block = regexp.MustCompile(`(?s)<!-- results (\S+) -->\n(.*?)<!-- end -->`)

// The results in the page about the paper are those of the journals: each block between markers is
// written from testdata/journals, which "make results" copies from runs. With -update the test
// writes the page. Numbers in the text before the earlier runs, and in README's lines about the
// page, are numbers of a journal.
func TestPages(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "evidence", "paper.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	cited, numbers := map[string]bool{}, map[string]bool{}
	want := block.ReplaceAllStringFunc(string(text), func(found string) string {
		name := block.FindStringSubmatch(found)[1]
		cited[name] = true
		data, err := os.ReadFile(filepath.Join("testdata", "journals", name+".json"))
		if err != nil {
			t.Fatalf("%s: the page cites %s, which has no journal: %v", page, name, err)
		}
		var j Journal
		if err := json.Unmarshal(data, &j); err != nil || j.Name != name {
			t.Fatalf("%s: %v", name, err)
		}
		for _, v := range numeral.FindAllString(string(data)+j.page(), -1) {
			numbers[v] = true
		}
		return fmt.Sprintf("<!-- results %s -->\n%s<!-- end -->", name, j.page())
	})
	if journals, err := filepath.Glob("testdata/journals/*.json"); err != nil || len(journals) != len(cited) || len(journals) == 0 {
		t.Errorf("%d journals, and the page cites %d", len(journals), len(cited))
	}
	cases.Golden(t, page, want)
	prose, _, found := strings.Cut(block.ReplaceAllString(want, ""), "\n## The earlier runs")
	if !found {
		t.Error("the page has no section of earlier runs")
	}
	for path, text := range map[string]string{page: prose, "README.md": aboutThePaper(t)} {
		for _, v := range numeral.FindAllString(noResult.ReplaceAllString(text, ""), -1) {
			if !numbers[v] {
				t.Errorf("%s cites %s, which no journal has", path, v)
			}
		}
	}
}

var (
	// numeral matches a number of at least two digits.
	numeral = regexp.MustCompile(`[0-9][0-9.]*[0-9](e-?[0-9]+)?`)
	// noResult matches code, dates, addresses of links, a name and the level of the intervals.
	noResult = regexp.MustCompile("(?m)`[^`]*`|^ {4}.*$|[0-9]{4}-[0-9]{2}-[0-9]{2}|\\]\\([^)]*\\)|95% interval|CIFAR-10")
)

// aboutThePaper returns the lines of README.md that link to the page about the paper.
func aboutThePaper(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "evidence/paper.md") {
			lines = append(lines, line)
		}
	}
	if lines == nil {
		t.Error("README.md does not link to the page about the paper")
	}
	return strings.Join(lines, "")
}

// page returns the part of a page.
func (j *Journal) page() string {
	var out strings.Builder
	number := func(s compare.Statistic) string {
		if s.N == 0 {
			return "-"
		}
		return fmt.Sprintf("%.4g", s.Mean)
	}
	for _, line := range j.Data {
		width := 0
		for _, word := range strings.Fields(line) {
			if width += len(word) + 1; width > 160 {
				width = len(word) + 1
				out.WriteString("\n")
			} else if width > len(word)+1 {
				out.WriteString(" ")
			}
			out.WriteString(word)
		}
		out.WriteString("\n\n")
	}
	fmt.Fprintf(&out, "|method|loss|violation|best feasible|met|\n|---|--:|--:|--:|--:|\n")
	for _, c := range j.Comparisons {
		for _, m := range c.Methods {
			fmt.Fprintf(&out, "|%s:%s|%s|%s|%s|%d/%d|\n", c.Name, m.Name, number(m.Loss), number(m.Violation), number(m.Best), m.Met, len(c.Seeds))
		}
	}
	fmt.Fprintln(&out)
	var subject, claim, rulings string // of the line before: the subjects of equal claims share a line
	flush := func() {
		if claim != "" {
			fmt.Fprintf(&out, "- %s %s:%s\n", subject, claim, rulings)
		}
	}
	for i := 0; i < len(j.Verdicts); {
		whole, own := j.Verdicts[i].Claim, ""
		for ; i < len(j.Verdicts) && j.Verdicts[i].Claim == whole; i++ {
			own += fmt.Sprintf(" %s **%s**", j.Verdicts[i].Comparison, j.Verdicts[i].Ruling)
		}
		first, rest, _ := strings.Cut(whole, " ")
		if rest == strings.TrimPrefix(claim, "each ") && own == rulings {
			subject, claim = subject+", "+first, "each "+rest
			continue
		}
		flush()
		subject, claim, rulings = first, rest, own
	}
	flush()
	return out.String()
}
