"""Describe the public names of a package as JSON: `python describe.py ROOT NAMESPACE...`.

Runs in either interpreter (this project's or the reference's) and uses nothing but introspection,
so that the two outputs can be compared. A name is public when it has no leading underscore and
belongs to the package: a module of it, a class or function defined in it, or a value.
"""

import importlib
import inspect
import json
import sys
import types

FOREIGN = {"annotations", "TYPE_CHECKING"}


def signature(value):
    """Parameters as `[name, kind, default or None]`, or None where there is no signature."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    return [
        [p.name, p.kind.name, None if p.default is p.empty else default_text(p.default)]
        for p in found.parameters.values()
    ]


def default_text(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (list, tuple)) and all(isinstance(v, (int, str)) for v in value):
        return repr(tuple(value))
    return "<value>"


def members(cls):
    """Public attributes of a class and those of its bases inside the package."""
    return sorted(name for name in dir(cls) if not name.startswith("_"))


def belongs(value, root):
    module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    return isinstance(module, str) and module.split(".")[0] in (root, "tvm_ffi")


def describe(root, namespace):
    module = importlib.import_module(f"{root}.{namespace}" if namespace else root)
    found = {}
    for name in dir(module):
        if name.startswith("_") or name in FOREIGN:
            continue
        value = getattr(module, name)
        if name in getattr(module, "__all__", ()) and isinstance(value, type):
            members_of = members(value)
            found[name] = {"kind": "class", "init": signature(value), "members": members_of}
            continue
        if isinstance(value, types.ModuleType):
            if belongs(value, root):
                found[name] = {"kind": "module"}
        elif isinstance(value, type):
            if belongs(value, root):
                found[name] = {
                    "kind": "class",
                    "init": signature(value),
                    "members": members(value),
                }
        elif callable(value) and hasattr(value, "__module__"):
            if belongs(value, root):
                found[name] = {"kind": "function", "signature": signature(value)}
        elif not type(value).__module__.startswith(("typing", "__future__")):
            found[name] = {"kind": "value"}
    return found


def main():
    root, namespaces = sys.argv[1], sys.argv[2:]
    result = {}
    for namespace in namespaces:
        namespace = "" if namespace == "." else namespace
        try:
            result[namespace] = describe(root, namespace)
        except ImportError as error:
            result[namespace] = {"!": str(error)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
