package cmd

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"ppal/internal/config"
)

// The manual page has every command and every setting, only known requests, and no warning of
// groff, where groff is installed.
func TestManual(t *testing.T) {
	got := with("", "man")
	if got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	for name, command := range new(app).commands() {
		if !command().Hidden && !strings.Contains(got.stdout, "\n.SS ppal "+roff(name)) {
			t.Errorf("no command %s", name)
		}
	}
	for _, k := range config.Keys() {
		if !strings.Contains(got.stdout, `\fB\-\-`+roff(k.Name)+`\fR`) {
			t.Errorf("no flag --%s", k.Name)
		}
	}
	request := regexp.MustCompile(`^\.(TH|SH|SS|TP|PP|nf|fi)( |$)`)
	for line := range strings.Lines(got.stdout) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && (line[0] == '.' || line[0] == '\'') && !request.MatchString(line) {
			t.Errorf("unknown request %q", line)
		}
	}
	if _, err := exec.LookPath("groff"); err != nil {
		return
	}
	lint := exec.CommandContext(t.Context(), "groff", "-man", "-Tutf8", "-ww")
	lint.Stdin = strings.NewReader(got.stdout)
	var problems strings.Builder
	if lint.Stderr = &problems; lint.Run() != nil || problems.Len() > 0 {
		t.Errorf("groff: %s", problems.String())
	}
}
