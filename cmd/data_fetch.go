package cmd

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"ppal/datasets"
)

func (a *app) dataFetchCommand(opts *dataOptions) *cobra.Command {
	cmd := oneDataset(&cobra.Command{
		Use:   "fetch NAME",
		Short: "Download a data set, or continue a download",
		Example: `  ppal data fetch fashion-mnist
  ppal data fetch adult
  ppal data fetch cifar10 --data-dir ~/data --mirror https://example.org/data`,
		RunE: a.command(func(cmd *cobra.Command, args []string) error {
			d, err := datasets.Lookup(args[0])
			if err != nil {
				return err
			}
			if len(d.Files) == 0 && !d.Own {
				fmt.Fprintf(a.stdout, "%s is built in; there is nothing to download\n", d.Name)
				return nil
			}
			dir, err := datasets.Dir(opts.dir, a.getenv)
			if err != nil {
				return err
			}
			progress := a.newDownload(d)
			fetch := datasets.FetchOptions{
				Mirrors: datasets.Mirrors(opts.mirrors, a.getenv), Progress: progress.update, Log: progress.log,
			}
			err = datasets.Fetch(cmd.Context(), dir, d.Name, fetch)
			progress.finish()
			if err != nil {
				return err
			}
			fmt.Fprintf(printing{a.stdout}, "%s: %d files in %s\n", d.Name, len(d.Files), dir)
			return nil
		}),
	})
	cmd.Flags().StringSliceVar(&opts.mirrors, "mirror", nil,
		"download from these base `URL`s instead of the original sources, tried in order (default $PPAL_MIRROR)")
	return cmd
}

// download shows the progress of a download: a bar over all files on a terminal, otherwise a log
// line every few seconds.
type download struct {
	have  map[string]int64
	log   *slog.Logger
	bar   *progressbar.ProgressBar // nil without a terminal
	total int64
	now   func() time.Time
	shown time.Time
}

func (a *app) newDownload(d datasets.Dataset) *download {
	p := &download{have: map[string]int64{}, total: totalSize(d.Files), now: a.now}
	out := a.stderr
	if a.terminal {
		p.bar = progressbar.NewOptions64(p.total, progressbar.OptionSetWriter(a.stderr), progressbar.OptionThrottle(barRefresh),
			progressbar.OptionShowBytes(true), progressbar.OptionSetDescription(d.Name), progressbar.OptionSetWidth(30))
		out = barWriter{p.bar, a.stderr}
	}
	p.log = slog.New(slog.NewTextHandler(out, nil))
	return p
}

// update implements datasets.FetchOptions.Progress. done may decrease.
func (p *download) update(file datasets.File, done int64) {
	p.have[file.Path] = done
	sum := int64(0)
	for _, n := range p.have {
		sum += n
	}
	switch {
	case p.bar != nil:
		_ = p.bar.Set64(sum)
	case p.bar == nil && (done == file.Size || p.now().Sub(p.shown) >= logInterval):
		p.shown = p.now()
		p.log.Info("downloading", "file", file.Path, "have", megabytes(done), "of", megabytes(file.Size))
	}
}

func (p *download) finish() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// barWriter writes whole lines above a bar.
type barWriter struct {
	bar *progressbar.ProgressBar
	out io.Writer
}

var _ io.Writer = barWriter{}

func (w barWriter) Write(p []byte) (int, error) {
	if err := w.bar.Clear(); err != nil {
		return 0, err
	}
	return w.out.Write(p)
}
