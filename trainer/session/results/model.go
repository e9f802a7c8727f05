package results

import "ppal/datasets/tabular"

// Model is the content of model.json: what a program needs to use the weights of
// model.safetensors on new rows. The files that it names are in the same directory.
type Model struct {
	Schema  int    `json:"schema"`  // the version of the keys
	Version string `json:"version"` // of the program that trained
	Task    string `json:"task"`
	Dataset string `json:"dataset,omitempty"` // "" for data at hand
	Kind    string `json:"kind"`              // linear, network, conv, resnet, scores, or that of your own model
	Weights string `json:"weights"`           // the weights' file, for rows before any normalization
	Input   Input  `json:"input"`
	// Decision is how scores give a class.
	Decision Decision `json:"decision"`
	// Normalization of the rows in training. It is folded into the weights.
	Normalization string `json:"normalization"`
	// Objective and Constraints are the texts of the problem, and Attributes the attributes that
	// the constraints use, with their values among the training rows.
	Objective   string           `json:"objective"`
	Constraints []string         `json:"constraints"`
	Attributes  []ModelAttribute `json:"attributes,omitempty"`
	// Groups are the groups of the rows of a table. Disjoint groups are the values of the attribute
	// GroupsAttribute. Otherwise GroupsAttribute is "", and constraints name them "groups".
	Groups          []ModelGroup `json:"groups,omitempty"`
	GroupsAttribute string       `json:"groups_attribute,omitempty"`
	// Reading says how the columns of attributes and groups are read; nil: not from a table.
	Reading *tabular.Reading `json:"reading,omitempty"`
	// LeftOut names, by constraint, the rates of classes and groups that the constraint leaves out.
	// nil: a version of the program wrote the file that did not record them.
	LeftOut map[string][]string `json:"left_out"`
	// Query is the column of the queries of documents that the model ranks, or "qid" for rows in
	// LIBSVM format; "" for other models and for data at hand.
	Query string `json:"query,omitempty"`
	// Rows is the file that says to which split each row went; "" for data at hand.
	Rows string `json:"rows,omitempty"`
	// Files has the SHA-256 of the weights' file and of the preparation, in hex, by name.
	Files map[string]string `json:"files,omitempty"`
	// Checksum is the SHA-256 of model.json, in hex, with zeros in place of its own digits.
	Checksum string `json:"checksum,omitempty"`
}

// Input describes the rows that the model takes.
type Input struct {
	Format   Format `json:"format"`
	Features int    `json:"features"` // number of inputs of the model
	// Preparation is the file that says how columns become features; "" for pictures and matrices.
	Preparation string `json:"preparation,omitempty"`
	// Shape is that of a picture: channels, height and width. Scale is multiplied by its bytes.
	Shape []int   `json:"shape,omitempty"`
	Scale float64 `json:"scale,omitempty"`
}

// Format names the format of a model's rows.
type Format string

// The formats.
const (
	FormatText     Format = "text"     // separated fields, CSV or TSV
	FormatLIBSVM   Format = "libsvm"   // LIBSVM's format
	FormatPictures Format = "pictures" // bytes, IDX
	FormatMatrix   Format = "matrix"   // features as the calling program had them
	// PNG and JPEG files in a folder or a table, IDX
	FormatPictureFiles Format = "picture-files"
)

// Decision says how the scores of a row give its class.
type Decision struct {
	// Rule is "sign", with one score that decides for the last of two classes if it is above 0,
	// "largest", with one score for each class, or "rank", with one score that orders the documents
	// of a query.
	Rule    string  `json:"rule"`
	Classes []Class `json:"classes"` // in the order of the scores; two classes: negative, positive
	// Label is how a file's label gives the class; nil for pictures and matrices.
	Label *tabular.Label `json:"label,omitempty"`
	// Threshold has been subtracted from the bias after training, so that the rule holds.
	Threshold float64 `json:"threshold"`
	// Probability gives the probability of the positive class; nil if it was not fitted.
	Probability *Sigmoid `json:"probability,omitempty"`
	// Probabilities gives the probability of each class if the rule is "largest"; nil if it was not
	// fitted.
	Probabilities *Softmax `json:"probabilities,omitempty"`
}

// The rules of decision.
const (
	RuleSign    = "sign"
	RuleLargest = "largest"
	RuleRank    = "rank" // the documents of a query by decreasing score
)

// Class is a class of the rows.
type Class struct {
	Name  string `json:"name"`
	Value string `json:"value"` // the label's value, as printed in a prediction
	// Number is the class's number in the labels' file of pictures.
	Number *int `json:"number,omitempty"`
}

// Sigmoid is the function 1/(1 + exp(-(Slope score + Intercept))) of a score (Platt scaling).
type Sigmoid struct {
	Slope     float64 `json:"slope"`
	Intercept float64 `json:"intercept"`
}

// Softmax gives the probability of each class k, proportional to exp(Slope score_k + Intercepts_k).
type Softmax struct {
	Slope      float64   `json:"slope"`
	Intercepts []float64 `json:"intercepts"`
}

// ModelAttribute is an attribute of the rows with its values.
type ModelAttribute struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// ModelGroup is a group of rows: the rows that meet all conditions, each on one column. A group
// without conditions has the rows of no other group.
type ModelGroup struct {
	Name       string   `json:"name"`
	Conditions []string `json:"conditions"`
}

// Preparation is the content of preparation.yaml: how the columns of a table became the model's
// inputs. The weights of model.safetensors act on rows that were prepared in this way.
type Preparation struct {
	Features            []string `yaml:"features"` // the inputs' names, in order
	tabular.Preparation `yaml:",inline"`
}
