"""Execute the code of the notebooks in this folder: make check-notebooks. With --write, Jupyter keeps the outputs (pip install nbclient ipykernel)."""

import ast
import json
import os
import sys
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # scikit-learn's threads wait busily for small products
os.environ["PATH"] = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]  # with the command ppal
for path in sorted(Path(__file__).parent.glob("*.ipynb")):
    if "--write" in sys.argv:
        import nbformat
        from nbclient import NotebookClient

        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=600, record_timing=False).execute()
        notebook.metadata.pop("language_info", None)
        nbformat.write(notebook, path)
        continue
    names: dict = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            body = ast.parse("".join(cell["source"])).body
            shown = body.pop() if isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), path.name, "exec"), names)
            if shown:
                print(eval(compile(ast.Expression(shown.value), path.name, "eval"), names))
    print(f"{path.name} ran", flush=True)
