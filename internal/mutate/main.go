// Mutate looks for code that no test checks. It changes one place of a package at a time (a mutant:
// another comparison, another operator, a removed statement, a condition that is always true), runs
// the tests of the package, and lists the mutants that all tests pass.
//
//	go run ./internal/mutate ./trainer/step ./internal/disk
//
// The program compiles all mutants of a package into one test binary, in which an environment
// variable selects the active mutant, and runs each mutant only with the tests in which its place
// gets another value. A mutant that changes nothing that a test could see is listed in
// equivalent.txt with the reason, and is left out. The program names the lines of equivalent.txt
// whose place has changed. A surviving mutant that drops the error of a call or changes a capacity
// counts as outside, and is not listed. On Linux, a mutant whose tests use no processor time for 10
// seconds, because they wait for each other, counts as killed.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"
)

//go:embed equivalent.txt
var equivalentText string

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutate: ")
	with := flag.String("with", "", "further packages whose tests run for each mutant, separated by spaces")
	match := flag.String("match", "", "only the mutants whose line in the list matches this regular expression")
	sample := flag.Int("sample", 0, "only this many mutants of each package, drawn at random (0: all)")
	short := flag.Bool("short", true, "run the tests with -short")
	run := flag.String("run", "", "run only the tests that match this regular expression")
	skip := flag.String("skip", "", "leave out the tests that match this regular expression")
	budget := flag.Duration("budget", 2*time.Minute, "seconds of undisturbed tests for each mutant; longer tests are left out")
	again := flag.String("again", "", "only the mutants in this file, which is the list of an earlier run")
	list := flag.Bool("list", false, "list the mutants and run no test")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./internal/mutate [flags] PACKAGE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	only, err := regexp.Compile(*match)
	if err != nil {
		log.Fatal(err)
	}
	known, err := equivalents(equivalentText)
	if err != nil {
		log.Fatal(err)
	}
	var earlier map[string]bool
	if *again != "" {
		text, err := os.ReadFile(*again)
		if err != nil {
			log.Fatal(err)
		}
		earlier = keys(string(text))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survived := false
	for _, pattern := range flag.Args() {
		p, err := load(pattern)
		if err != nil {
			log.Fatal(err)
		}
		for _, key := range stale(known, p.mutants) {
			log.Printf("equivalent.txt: no mutant is %s", key)
		}
		var chosen []*mutant
		all, equivalent := 0, 0
		for _, m := range p.mutants {
			if !only.MatchString(m.String()) || earlier != nil && !earlier[m.key()] {
				continue
			}
			if all++; known[m.key()] {
				equivalent++
			} else {
				chosen = append(chosen, m)
			}
		}
		left := len(chosen)
		if *sample > 0 && *sample < left {
			rand.New(rand.NewPCG(1, 1)).Shuffle(left, func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
			chosen = chosen[:*sample]
		}
		if *list {
			for _, m := range chosen {
				fmt.Println(m)
			}
			continue
		}
		r := runner{p: p, tests: append([]string{p.path}, strings.Fields(*with)...), only: *run, skip: *skip, short: *short, budget: *budget,
			survivor: func(m *mutant) { fmt.Println(m) }}
		alive, err := r.run(ctx, chosen)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d mutants: %d killed (%d waited in vain), %d equivalent, %d outside, %d survived (%d change nothing in any test), %d not tried\n",
			p.path, all, r.tried-r.outside-len(alive), r.waited, equivalent, r.outside, len(alive), r.unreached, left-r.tried)
		survived = survived || len(alive) > 0
	}
	if survived {
		os.Exit(1)
	}
}

// equivalents reads the list of mutants that no test can tell from the program: lines
// "FILE FUNCTION: MUTATION | REASON". It returns the text before the reason.
func equivalents(text string) (map[string]bool, error) {
	known := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line, " | ")
		if at < 0 || strings.TrimSpace(line[at+3:]) == "" {
			return nil, fmt.Errorf("equivalent.txt, line %d: no reason after \" | \"", i+1)
		}
		known[strings.TrimSpace(line[:at])] = true
	}
	return known, nil
}

// stale returns the lines of the list that name a file of the mutants, but none of the mutants.
func stale(known map[string]bool, mutants []*mutant) []string {
	files, present := map[string]bool{}, map[string]bool{}
	for _, m := range mutants {
		files[m.file], present[m.key()] = true, true
	}
	var lines []string
	for key := range known {
		if file, _, _ := strings.Cut(key, " "); files[file] && !present[key] {
			lines = append(lines, key)
		}
	}
	slices.Sort(lines)
	return lines
}

// keys returns the keys of the mutants in the list of a run.
func keys(text string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(text) {
		found[lineNumber.ReplaceAllString(strings.TrimSpace(line), "$1 ")] = true
	}
	return found
}

var lineNumber = regexp.MustCompile(`^(\S+\.go):\d+ `)
