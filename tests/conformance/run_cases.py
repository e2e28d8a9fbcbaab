"""Run a file of cases with a package: `python run_cases.py ROOT FILE` prints the results as JSON.

The program is written for TVM; for another ROOT its imports are changed and nothing else.
"""

import json
import pathlib
import sys
import tempfile
import traceback


def script(text):
    """A printed program without the comment that says where its names come from."""
    lines = text.splitlines()
    while lines and (lines[0].startswith("# from ") or not lines[0]):
        del lines[0]
    return "\n".join(lines)


def plain(value):
    """A result as JSON data."""
    if isinstance(value, str):
        return script(value)
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    return script(str(value))


def translated(text, root):
    if root == "tvm":
        return text
    lines = []
    for line in text.splitlines():
        line = line.replace("import tvm", f"import {root} as tvm") if line == "import tvm" else line
        lines.append(line.replace("from tvm", f"from {root}"))
    return "\n".join(lines) + "\n"


def main():
    root, path, *only = sys.argv[1:]
    source = pathlib.Path(path)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / source.name
        file.write_text(translated(source.read_text(), root))
        sys.path.insert(0, folder)
        module = __import__(source.stem)
        results = {}
        for name, function in list(vars(module).items()):
            if name.startswith("case_") and (not only or name in only):
                try:
                    results[name] = plain(function())
                except Exception as error:
                    text = "".join(traceback.format_exception(error)) if only else ""
                    results[name] = f"! {type(error).__name__}: {error} {text}"
    print(json.dumps(results))


if __name__ == "__main__":
    main()
