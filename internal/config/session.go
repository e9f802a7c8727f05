package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/option"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// SessionOptions returns the options of the run that the configuration describes. dataDir is the
// directory of the data sets' files. The error reports a setting whose value has the wrong type; a
// resolved configuration has no such setting.
func (t Train) SessionOptions(dataDir string) (session.Options, error) {
	o := t.Run.Session
	o.Model = t.Model.Shape.Architecture()
	o.Files.Settings = t.programSettings()
	for _, n := range t.Notes() {
		o.Files.Notes = append(o.Files.Notes, n.String())
	}
	o.Data, o.Task = t.Source(dataDir), t.Task
	var err error
	if o.Method, err = t.TrainerMethod(); err != nil {
		return o, err
	}
	r := t.Problem.Regularizer
	if r.Kind.Weighted() && r.Weight == 0 {
		return o, &Error{Where: "--regularizer-weight auto:", Problem: "only ppal train chooses the weight; give a number"}
	}
	o.Regularizer = &r
	return o, nil
}

// Source returns the source of the rows.
func (t Train) Source(dataDir string) session.Source {
	if slices.Contains(datasets.PictureSets(), t.Dataset) {
		images := t.Pictures
		images.Dataset, images.Dir, images.Split, images.SplitSeed = t.Dataset, dataDir, t.Table.Split, t.Table.SplitSeed
		return images
	}
	if t.Dataset == datasets.Pictures {
		return session.PictureFiles{TableOptions: t.TableOptions(), Normalize: t.Pictures.Normalize, Augment: t.Pictures.Augment}
	}
	return session.Table{Dataset: t.Dataset, Dir: dataDir, TableOptions: t.TableOptions()}
}

// TableOptions returns the options for loading the run's table.
func (t *Train) TableOptions() tabular.TableOptions {
	o := t.Table
	o.Seed = t.Session.Settings.Seed
	return o
}

// programSettings returns the lines of config.yaml that differ from those of a session, and the
// notes on the others. The file does not contain out, which is its own directory.
func (t *Train) programSettings() []session.Setting {
	var list []session.Setting
	settings := t.bind()
	for _, g := range t.program() {
		for _, o := range g.options {
			if text := settings.lookup(o.Name); text != "" && o.Name != "out" && o.Name != option.NameMethod {
				line := session.Setting(rundir.SettingOf(o, text))
				line.Group = g.name
				list = append(list, line)
			}
		}
	}
	for _, o := range []*option.Option{settings.options["classes"], settings.options["data-dir"]} { // as given
		line := session.Setting(rundir.SettingOf(o, settings.lookup(o.Name)))
		if text := settings.lookup(o.Name); text == "" {
			line.Value = ""
		}
		list = append(list, line)
	}
	for _, n := range t.Notes() {
		list = append(list, session.Setting{Name: n.Key, Note: n.Text})
	}
	return list
}

// YAML returns the config.yaml of the run: every setting that applies. Each value that the paper
// does not give has a note. The zero provenance stays out of the file.
func (t Train) YAML(p results.Provenance) ([]byte, error) {
	o, err := t.SessionOptions(t.DataDir)
	if err != nil {
		return nil, err
	}
	return o.Config(p)
}

// NameFlags turns a session's error about an option into an error that names the flag. Other errors
// stay as they are.
func NameFlags(err error) error {
	var refused *session.OptionError
	if errors.As(err, &refused) {
		return &Error{Where: "--" + refused.Option, Problem: refused.Problem}
	}
	var wrong *constraints.SyntaxError
	if errors.As(err, &wrong) {
		flag := "subject-to"
		if _, err := constraints.ParseObjective(wrong.Text); err == nil {
			flag = "minimize"
		}
		return (setting{wrong.Text, place{name: flag}}).refuse("%s", wrong.Detail())
	}
	var start *session.InitError
	if errors.As(err, &start) {
		return initError(start)
	}
	return err
}

// initError says why the run cannot start from --init's file, and how to make the file fit. If the
// file holds another model, the run's settings are wrong, and the error is an *Error.
func initError(e *session.InitError) error {
	var mismatch *models.MismatchError
	if errors.As(e.Err, &mismatch) {
		return &Error{Where: "--init " + e.Path + ":", Problem: advice(mismatch)}
	}
	var pe *fs.PathError
	if errors.As(e.Err, &pe) {
		return Missing("--init %s: %w; name a safetensors file, such as a run's model.safetensors", e.Path, pe.Err)
	}
	return fmt.Errorf("--init: %w", e.Err)
}

// advice says for each setting that differs which flag would make the run's model the file's.
func advice(e *models.MismatchError) string {
	var differ []string
	for _, d := range e.Differences() {
		differ = append(differ, fmt.Sprintf("the file's model has %s %v, the run's %v: give %s", d.Key, d.File, d.Want, remedy(d, e.File.Kind())))
	}
	return strings.Join(differ, "; ")
}

// units returns a list of numbers as the text of a flag.
func units(list any) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
}

// remedy is the flag for one difference from a file with a model of the kind.
func remedy(d models.Difference, kind string) string {
	switch d.Key {
	case "inputs":
		return "the --dataset that it was trained on"
	case "outputs":
		return "as many --classes"
	case "kind":
		switch {
		case models.IsForPictures(kind), kind == models.KindLinear:
			return "--model " + kind
		case kind == models.KindNetwork:
			return "--model mlp"
		}
		return "the program that trained it, which has such models"
	case "channels":
		return "--channels " + units(d.File)
	case "hidden":
		switch {
		case units(d.File) == "" && models.IsForPictures(kind):
			return "no --hidden"
		case units(d.File) == "":
			return "--model linear"
		case units(d.Want) == "":
			return "--model mlp --hidden " + units(d.File)
		}
		return "--hidden " + units(d.File)
	}
	return fmt.Sprintf("--%s %v", d.Key, d.File)
}
