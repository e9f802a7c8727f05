"""Execute the notebooks of this folder: make check-notebooks. With --write, keep their outputs."""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

for path in sorted(Path(__file__).parent.glob("*.ipynb")):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, record_timing=False).execute()
    print(f"{path.name}: {len(notebook.cells)} cells ran")
    if "--write" in sys.argv:
        notebook.metadata.pop("language_info", None)
        nbformat.write(notebook, path)
