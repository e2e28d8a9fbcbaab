"""What the repository as a whole promises: its top level, its set-up commands, one version."""

import re
import subprocess
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TOP_LEVEL = {
    *("workbench", "notebooks", "extensions", "tests", "binder", "docs", "benchmarks", ".ci"),
    *("pyproject.toml", "README.md", "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md", ".gitignore"),
}


def tracked():
    """Files git knows, or None in an unpacked source distribution."""
    if not (ROOT / ".git").exists():
        return None
    answer = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [Path(line) for line in answer.stdout.splitlines()]


def texts():
    for path in tracked() or (p.relative_to(ROOT) for p in (ROOT / "workbench").rglob("*.py")):
        if path.suffix in {".onnx", ".npz", ".png"} or not (ROOT / path).exists():
            continue
        yield path, (ROOT / path).read_text(encoding="utf-8")


def test_top_level_is_what_the_map_says():
    files = tracked()
    found = {path.parts[0] for path in files} if files is not None else TOP_LEVEL
    assert found == TOP_LEVEL


def test_one_version():
    version = PROJECT["project"]["version"]
    assert import_module("workbench").__version__ == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "command",
    ['pip install ".[lab]" && workbench demo', 'pip install -e ".[test]" && pytest'],
)
def test_readme_has_the_two_commands(command):
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")


def test_extras_and_script_that_the_commands_need():
    project = PROJECT["project"]
    assert project["scripts"]["workbench"] == "workbench.cli:main"
    assert callable(import_module("workbench.cli").main)
    lab = {re.split(r"[<>=\[]", entry)[0] for entry in project["optional-dependencies"]["lab"]}
    assert {"jupyterlab", "ipywidgets", "anywidget", "matplotlib"} <= lab
    assert "tensor-workbench[lab]" in project["optional-dependencies"]["test"]
    core = {re.split(r"[<>=\[]", entry)[0] for entry in project["dependencies"]}
    assert core == {"numpy", "llvmlite", "onnx", "apache-tvm-ffi", "graphviz", "ml_dtypes"}


def test_install_puts_the_notebooks_into_the_package():
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {"notebooks": "workbench/notebooks"}


@pytest.mark.parametrize("script", [".ci/run", "binder/postBuild"])
def test_shell_scripts_parse_and_may_be_executed(script):
    path = ROOT / script
    if not path.exists():
        pytest.skip("not part of a source distribution")
    subprocess.run(["bash", "-n", str(path)], check=True)
    assert path.stat().st_mode & 0o111


def test_no_file_names_a_private_path_or_a_package_host():
    private = re.compile(
        r"(?<![\w.~])/(home|root|work|Users)/\w|pypi\.org/simple|files\.pythonhosted"
    )
    found = [
        f"{path}:{number}: {line.strip()[:80]}"
        for path, text in texts()
        if path != Path("tests/repository/test_repository.py")
        for number, line in enumerate(text.splitlines(), 1)
        if private.search(line)
    ]
    assert not found


def test_links_in_the_documents_lead_somewhere():
    for name in ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/getting_started.md"):
        document = ROOT / name
        prose = re.sub(
            r"```.*?```|`[^`]*`", "", document.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        for target in re.findall(r"\]\(([^)#:]+)\)", prose):
            assert (document.parent / target).exists(), f"{name} links to {target}"
