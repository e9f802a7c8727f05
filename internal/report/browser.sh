#!/bin/sh
# browser.sh prints the path of a Chromium that runs without a screen. If there is none, it installs
# Debian's package, or says how to do so.
set -eu
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
  if path=$(command -v "$name"); then
    echo "$path"
    exit 0
  fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update && apt-get install -y --no-install-recommends chromium-headless-shell; } >&2
  command -v chromium-headless-shell
  exit 0
fi
echo "make check-report needs Chromium: apt-get install chromium-headless-shell, or BROWSER=path" >&2
exit 1
