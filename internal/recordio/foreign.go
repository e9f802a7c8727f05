package recordio

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"ppal/datasets/dataerr"
	"ppal/internal/option"
)

// ForeignForms lists formats that are not text of separated fields: how the first bytes of a file
// look, the name of the format, and the command or step that converts a file. %s is the file's
// name as a word of a shell. The first form that fits counts.
var ForeignForms = []struct {
	begin         string // a regular expression of the first bytes
	form, Convert string
}{
	{`ARROW1\x00`, "an Arrow file", pandasReads("read_feather")},
	{`FEA1[^\n]{0,60}\x00`, "a Feather file", pandasReads("read_feather")},
	{`ORC[^\n]{0,60}[\x00-\x08]`, "an ORC file", pandasReads("read_orc")},
	{`\xff\xff\xff\xff`, "an Arrow stream", `python -c "import sys, pyarrow.ipc as i; i.open_stream(sys.argv[1]).read_pandas().to_csv('table.csv', index=False)" %s`},
	{`\x93NUMPY`, "a NumPy array", `sklearn.datasets.dump_svmlight_file writes the rows of %s; or read it with --dataset csv`},
	{`PK\x03\x04.{26}[^\x00]*\.npy`, "an archive of NumPy arrays", `sklearn.datasets.dump_svmlight_file writes the rows of %s; or read it with --dataset csv`},
	{`PK\x03\x04.{26}(\[Content_Types\]|xl/|_rels/|docProps/)`, "an Excel file", `save the sheet of %s as CSV`},
	{`PK\x03\x04.{26}[^\x00]*(data\.pkl|archive/)`, "a file of PyTorch", `write the tensors of %s as the columns of a Parquet file`},
	{`PK\x05\x06`, "an empty zip archive", `write the arrays to %s again`},
	{`PK\x03\x04`, "a zip archive or an Excel file", `unzip -p %s > table.csv, or save the sheet as CSV`},
	{`\xd0\xcf\x11\xe0`, "an Excel file", `save the sheet of %s as CSV`},
	{`SQLite format 3`, "an SQLite file", `sqlite3 -header -csv %s "SELECT * FROM TABLE" > table.csv`},
	{`<stata_dta>|[\x69-\x73][\x01\x02]\x01\x00`, "a Stata file", pandasReads("read_stata")},
	{`\$FL[23]`, "an SPSS file", pandasReads("read_spss")},
	{`\x00{12}\xc2\xea\x81\x60`, "a SAS file", pandasReads("read_sas")},
	{`RD[AX][23]\n[XA]\n|[XA]\n\x00\x00\x00[\x02\x03]`, "a file of R", `Rscript -e "write.csv(readRDS(commandArgs(TRUE)), 'table.csv', row.names=FALSE)" %s`},
	{`\x89HDF\r\n`, "an HDF5 file", pandasReads("read_hdf")},
	{`Obj\x01`, "an Avro file", `write the records of %s as CSV or Parquet`},
	{`\x80[\x02-\x05][\x00-\x1f\x80-\xff}\]().c]`, "a Python pickle", pandasReads("read_pickle")},
	{`BZh[1-9]1AY&SY`, "compressed by bzip2", `bunzip2 -c %s > table.csv`},
	{`\xfd7zXZ\x00`, "compressed by xz", `xz -dc %s > table.csv`},
	{`\x28\xb5\x2f\xfd`, "compressed by Zstandard", `zstd -dc %s > table.csv`},
	{`\x04\x22\x4d\x18`, "compressed by LZ4", `lz4 -dc %s > table.csv`},
	{`7z\xbc\xaf\x27\x1c`, "a 7z archive", `7z x -so %s > table.csv`},
	{`.{257}ustar[\x00 ]`, "a tar archive", `tar -xOf %s > table.csv`},
	{`%PDF-`, "a PDF file", `export the table of %s as CSV`},
	{`(?i)(\xef\xbb\xbf)?\s*<(!doctype html|html|head|table)\b`, "an HTML page", `download the file itself, or save the table of %s as CSV`},
	{`(\xef\xbb\xbf)?\s*<\?xml`, "an XML file", pandasReads("read_xml")},
	{`(\xef\xbb\xbf)?\s*\{\s*"[^"]*"\s*:.*\}\s*\n\s*\{`, "a file of JSON lines", `python -c "import sys, pandas; pandas.read_json(sys.argv[1], lines=True).to_csv('table.csv', index=False)" %s`},
	{`(\xef\xbb\xbf)?\s*(\{\s*["}]|\[\s*[[{])`, "a JSON file", pandasReads("read_json")},
	{`(?i)(\xef\xbb\xbf)?(\s|%[^\n]*\n)*@relation\s`, "an ARFF file", `python -c "import sys, scipy.io.arff as a, pandas; pandas.DataFrame(a.loadarff(sys.argv[1])[0]).to_csv('table.csv', index=False)" %s`},
	{`\x00\x00[\x08-\x0e][\x01-\x04]\x00`, "an IDX file", `%s holds pictures or their labels; name a data set of pictures`},
	{`\x89PNG\r\n|\xff\xd8\xff`, "a picture", `name the folder that holds %s`},
	{`version https://git-lfs`, "a pointer of Git LFS", `git lfs pull fetches %s`},
}

// pandasReads returns the command that converts a file which a function of pandas reads.
func pandasReads(function string) string {
	return `python -c "import sys, pandas; pandas.` + function + `(sys.argv[1]).to_csv('table.csv', index=False)" %s`
}

// foreignPatterns are the compiled patterns of ForeignForms.
var foreignPatterns = sync.OnceValue(func() (list []*regexp.Regexp) {
	for _, f := range ForeignForms {
		list = append(list, regexp.MustCompile(`^(?s:`+f.begin+`)`))
	}
	return list
})

// latin returns a text whose characters are the bytes.
func latin(head []byte) []rune {
	text := make([]rune, len(head))
	for i, c := range head {
		text[i] = rune(c)
	}
	return text
}

// formBytes is the number of bytes at the beginning of a file that show its format.
const formBytes = 4 << 10

// CheckText returns an error that names the format, the encoding or the line ends of a file, if the
// beginning of the file is not text in UTF-8 with usual line ends. want says what is wanted.
func CheckText(head []byte, name, want string) error {
	fail := func(advice, format string, args ...any) error {
		return &dataerr.FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: "+format, append([]any{dataerr.ErrFormat}, args...)...), Advice: advice}
	}
	begin := string(latin(head[:min(len(head), formBytes)]))
	patterns := foreignPatterns()
	for i, f := range ForeignForms {
		if patterns[i].MatchString(begin) {
			return fail("to read it: "+strings.ReplaceAll(f.Convert, "%s", option.ShellWord(name)), "it is %s, want %s", f.form, want)
		}
	}
	if encoding := wideEncoding(head); encoding != "" {
		return fail("convert it: "+convert(encoding, name), "the text is in %s, want UTF-8", encoding)
	}
	if at := bytes.IndexByte(head, '\r'); at >= 0 && at < len(head)-1 && bytes.IndexByte(head, '\n') < 0 {
		return fail(fmt.Sprintf("convert it: tr '\\r' '\\n' < %s > table.csv", option.ShellWord(name)), "the lines end in CR alone, as those of old Macs, want LF or CR LF")
	}
	return nil
}
