// Package config is a training run's configuration: the settings of the command line and of a YAML
// file, their defaults, and the refusal of settings that do not fit together.
//
// The settings are option.Options: those of a method, a task, a data set and a model stand beside
// them, those of the run and of the device beside session.Options, and those of the program here.
// Flags, files, help, defaults and errors are read off them.
package config

import (
	"ppal/datasets/tabular"
	"ppal/models"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// Train holds every setting of `ppal train`, resolved, as in a run's config.yaml. Names, values and
// units are those of the flags. Settings that the run does not use are zero.
type Train struct {
	Data
	Model
	Problem
	Method
	Run
}

// Data describes the rows that a run reads.
type Data struct {
	Problem string // the name of a task of package session
	Dataset string
	DataDir string
	// Table has the settings of tables, and the classes and splits of pictures as given. TableOptions
	// adds the seed.
	Table    tabular.TableOptions
	Pictures session.Images // RowsPerClass, Normalize, and the numbers of Table.Classes
}

// Model describes the scores.
type Model struct {
	Shape models.Shape
}

// Problem has the task with its settings, and the regularizer r.
type Problem struct {
	Task        session.Task // of Data.Problem; nil before the problem is known
	Regularizer problem.Regularizer
}

// Method names the method and holds its settings.
type Method struct {
	Name   string
	Reason string // why Auto chose Name, as a clause that follows "because"; "": the method was given
	Preset string // practical or paper
	// Options holds the method's settings that apply, as texts by name. Each method describes its own
	// settings (method.Method).
	Options map[string]string
}

// Run describes the length of a run, its records, its output and its device.
type Run struct {
	// Session holds the settings of the session's run and device. SessionOptions adds the others.
	Session   session.Options
	Out       string // "": runs/<time>-<problem>-<method>
	LogFormat string // text, json
	Quiet     bool
	Explain   bool // print the plan
}

// Iterations is the largest number of iterations; 0 writes the initial weights.
func (r *Run) Iterations() int { return max(0, r.Session.Settings.Iterations) }
