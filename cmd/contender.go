package cmd

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ppal/internal/config"
	"ppal/internal/oracle"
	"ppal/trainer"
	"ppal/trainer/method"
)

// The method of ppal train --oracle is registered for every command, because later commands read
// the settings of its runs.
func init() {
	d := method.Description{Name: oracle.Name, Kinks: true, Summary: "another program's steps: ppal train --oracle, ppal compare --contender",
		About:  "Serves f, g and gradients on standard input and output, and counts the program's evaluations.",
		Source: "ppal reproduce suite --help describes the protocol"}
	if err := method.Register(d, func() trainer.Method { return &oracle.Method{} }); err != nil {
		panic(err)
	}
}

// other characters than those of names
var unnamed = regexp.MustCompile(`[^a-z0-9-]+`)

// addContenders makes each command a method, and returns the methods' names.
func addContenders(commands []string) (names []string, err error) {
	for _, command := range commands {
		name := contenderName(command)
		if name == "" || slices.Contains(method.Names(), name) {
			return nil, &config.Error{Where: "--contender " + command + ":",
				Problem: fmt.Sprintf("its name, %q, is that of a method or empty: give its file another name", name)}
		}
		d := method.Description{Name: name, Kinks: true, Summary: command}
		if err := method.Register(d, func() trainer.Method { return &oracle.Method{Program: name, Command: command} }); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// contenderName returns the name of the file that the command's last word with a dot names, without
// its ending.
func contenderName(command string) (name string) {
	for _, word := range strings.Fields(command) {
		if base := filepath.Base(word); name == "" || filepath.Ext(base) != "" {
			name = strings.Trim(unnamed.ReplaceAllString(strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base))), "-"), "-")
		}
	}
	return name
}

// removeContenders removes the methods of addContenders.
func removeContenders(commands []string) {
	for _, command := range commands {
		if d, err := method.Lookup(contenderName(command)); err == nil && d.Summary == command {
			method.Unregister(d.Name)
		}
	}
}
