package report_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"ppal/internal/require"
)

// browser is a Chromium that is controlled through a pipe with the DevTools protocol: messages are
// JSON objects that end with a zero byte.
type browser struct {
	t       *testing.T
	to      *os.File
	replies chan message
	next    int
	session string
	load    bool
	bad     []string // errors of scripts and requests that leave the file
}

type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// openBrowser starts the browser at path and opens an empty page.
func openBrowser(t *testing.T, path string) *browser {
	t.Helper()
	fromTest, to, err := os.Pipe()
	require.NoError(t, err)
	from, toTest, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
		"--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{fromTest, toTest} // descriptors 3 and 4
	require.NoError(t, cmd.Start())
	_, _ = fromTest.Close(), toTest.Close()
	b := &browser{t: t, to: to, replies: make(chan message, 1000)}
	go func() {
		in := bufio.NewReaderSize(from, 1<<20)
		for {
			data, err := in.ReadBytes(0)
			if err != nil {
				close(b.replies)
				return
			}
			var m message
			if json.Unmarshal(data[:len(data)-1], &m) == nil {
				b.replies <- m
			}
		}
	}()
	t.Cleanup(func() {
		b.session = ""
		_, _ = b.try("Browser.close", nil)
		_ = to.Close()
		_ = cmd.Wait()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// try sends a command and waits for its result.
func (b *browser) try(method string, params any) (json.RawMessage, error) {
	b.next++
	command := map[string]any{"id": b.next, "method": method}
	if params != nil {
		command["params"] = params
	}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	data, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
		return nil, err
	}
	for {
		m, err := b.read()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", method, err)
		case m.ID == b.next && m.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, m.Error.Message)
		case m.ID == b.next:
			return m.Result, nil
		}
	}
}

func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	data, err := b.try(method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(data, result)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// read reads a message and collects events.
func (b *browser) read() (message, error) {
	select {
	case m, ok := <-b.replies:
		if !ok {
			return m, errors.New("the browser has ended")
		}
		b.event(m)
		return m, nil
	case <-time.After(30 * time.Second):
		return message{}, errors.New("no answer of the browser")
	}
}

func (b *browser) event(m message) {
	var p struct {
		Type  string
		Entry struct{ Level, Text string }
		// of Network.requestWillBeSent
		Request          struct{ URL string }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	_ = json.Unmarshal(m.Params, &p)
	switch m.Method {
	case "Page.loadEventFired":
		b.load = true
	case "Runtime.exceptionThrown":
		b.bad = append(b.bad, p.ExceptionDetails.Text+" "+p.ExceptionDetails.Exception.Description)
	case "Runtime.consoleAPICalled":
		if p.Type == "error" || p.Type == "warning" {
			b.bad = append(b.bad, "console: "+string(m.Params))
		}
	case "Log.entryAdded":
		if p.Entry.Level == "error" || p.Entry.Level == "warning" {
			b.bad = append(b.bad, p.Entry.Text)
		}
	case "Network.requestWillBeSent":
		if u := p.Request.URL; len(u) < 5 || u[:5] != "file:" && u[:5] != "data:" {
			b.bad = append(b.bad, "request "+u)
		}
	}
}

// open opens a file with a width and a colour scheme.
func (b *browser) open(path string, width int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.load = false
	b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	for !b.load {
		if _, err := b.read(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// eval evaluates an expression.
func (b *browser) eval(expression string, result any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails.Exception.Description)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result.Value, result); err != nil {
			b.t.Fatalf("%s: %v", expression, err)
		}
	}
}

// screenshot writes the whole page as a PNG file.
func (b *browser) screenshot(path string) {
	b.t.Helper()
	var shot struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	if err := os.WriteFile(path, shot.Data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
