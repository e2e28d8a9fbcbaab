"""`from_onnx`: reads an ONNX model into an IRModule with one Relax function `main`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError, did_you_mean
from workbench.core.names import NameSupply, identifier
from workbench.ir.expr import Expr, Var
from workbench.ir.module import IRModule
from workbench.ir.span import SourceName, Span
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import Constant, Tuple, const
from workbench.relax.frontend.onnx.ops_tensor import DTYPES
from workbench.relax.frontend.onnx.registry import (
    NodeContext,
    OnnxError,
    host_ops,
    onnx_ops,
)
from workbench.relax.frontend.onnx.values import HostValue, Value
from workbench.relax.type import TensorType

#: Operator domains that mean the standard operator set.
_STANDARD_DOMAINS = ("", "ai.onnx")


#: Attributes that do not change what a node computes in inference.
_WITHOUT_EFFECT = frozenset({"consumed_inputs", "is_test", "momentum", "ratio", "seed"})


class UnsupportedOperators(OnnxError):
    """The model uses operators the importer does not know; `operators` maps each to its nodes."""

    def __init__(self, operators: Mapping[str, Sequence[str]]) -> None:
        lines = []
        for name, nodes in sorted(operators.items()):
            shown = ", ".join(repr(n) for n in nodes[:5])
            more = f" and {len(nodes) - 5} more" if len(nodes) > 5 else ""
            lines.append(f"  {name} ({len(nodes)}): {shown}{more}")
        total = sum(map(len, operators.values()))
        super().__init__(
            f"the model uses {len(operators)} unsupported operators in {total} nodes:\n"
            + "\n".join(lines)
        )
        self.operators = dict(operators)


def load_model(model: Any) -> Any:
    """A checked `onnx.ModelProto` from a proto, bytes, or a path.

    Raises OnnxError if the file is missing, is no ONNX model, or is truncated.
    """
    import onnx

    if isinstance(model, onnx.ModelProto):
        return _check_proto(model, "the model")
    if isinstance(model, (str, Path)):
        path = Path(model)
        if not path.exists():
            raise OnnxError(f"no such file: {path}")
        if path.is_dir():
            raise OnnxError(f"{path} is a folder, expected an ONNX file")
        data, what = path.read_bytes(), str(path)
    elif isinstance(model, (bytes, bytearray, memoryview)):
        data, what, path = bytes(model), "what was given", None
    else:
        raise OnnxError(f"expected an onnx.ModelProto, bytes or a path, got {type(model).__name__}")
    if not data:
        raise OnnxError(f"{what}: the file is empty")
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except Exception as error:
        if _looks_like_onnx(data):
            raise OnnxError(
                f"{what}: an ONNX model that ends too early or is damaged ({len(data)} bytes)",
                hint="download or export it again",
            ) from error
        raise OnnxError(f"{what} is not an ONNX model ({_guess(data)})") from error
    if isinstance(model, (str, Path)) and path is not None:
        try:
            onnx.load_external_data_for_model(proto, str(path.parent))
        except Exception as error:
            raise OnnxError(f"{what}: its external data cannot be read: {error}") from error
    return _check_proto(proto, what)


def _looks_like_onnx(data: bytes) -> bool:
    """Field 1 (ir_version, a small number) comes first in what exporters write."""
    return len(data) > 2 and data[0] == 0x08 and data[1] < 0x20


def _guess(data: bytes) -> str:
    for magic, name in (
        (b"PK", "a ZIP archive, perhaps a PyTorch file"),
        (b"\x89PNG", "a PNG picture"),
        (b"\x89HDF", "an HDF5 file"),
        (b"TFL3", "a TFLite model"),
        (b"{", "a text that starts like JSON"),
        (b"<", "a text that starts like XML or HTML"),
    ):
        if data.startswith(magic) or (magic == b"TFL3" and data[4:8] == magic):
            return f"it looks like {name}"
    return f"it starts with {data[:8]!r}"


def _check_proto(proto: Any, what: str) -> Any:
    if not proto.HasField("graph") or not (proto.graph.node or proto.graph.output):
        raise OnnxError(f"{what}: an ONNX model without a graph")
    if not proto.opset_import:
        raise OnnxError(f"{what}: an ONNX model that names no operator set")
    if not proto.graph.output:
        raise OnnxError(f"{what}: the graph has no outputs")
    return proto


class _Importer:
    """Converts one graph."""

    def __init__(
        self,
        model: Any,
        shape_dict: Mapping[str, Sequence[Any]],
        dtype_dict: str | Mapping[str, str] | None,
        opset: int | None,
        keep_params: bool,
        sanitize: bool,
    ) -> None:
        self.graph = model.graph
        self.shape_dict = dict(shape_dict)
        self.dtypes = dtype_dict
        self.keep_params = keep_params
        self.sanitize = sanitize
        declared = {o.domain: o.version for o in model.opset_import}
        self.opset = (
            opset
            or next((declared[d] for d in _STANDARD_DOMAINS if d in declared), None)
            or max(declared.values())
        )
        self._check_opset()
        self.values: dict[str, Value] = {}
        self.symbols: dict[str, Var] = {}
        self.names = NameSupply()
        self.bb = BlockBuilder()
        self.weights: list[tuple[Var, np.ndarray[Any, Any]]] = []

    def _check_opset(self) -> None:
        from onnx.defs import onnx_opset_version

        newest = onnx_opset_version()
        if not 1 <= self.opset <= newest:
            raise OnnxError(
                f"the model uses the operator set {self.opset}, the installed onnx package knows"
                f" the sets 1 to {newest}",
                hint="export the model for an older set, or upgrade the package onnx",
            )

    # -- inputs ---------------------------------------------------------------------------------

    def symbol(self, name: str) -> Var:
        """The symbolic dimension of a name; names such as "?" stand for a new one each time."""
        if not any(c.isalnum() for c in name):
            readable = identifier(name, "d").strip("_") or "d"
            return Var(self._symbol_name(readable), "int64")
        if name not in self.symbols:
            self.symbols[name] = Var(self._symbol_name(identifier(name, "d")), "int64")
        return self.symbols[name]

    def _symbol_name(self, hint: str) -> str:
        return self.names.fresh(hint)

    def input_type(self, info: Any) -> TensorType:
        kind = info.type.WhichOneof("value")
        if kind != "tensor_type":
            raise OnnxError(f"input {info.name!r} is a {kind}, only tensors are supported")
        tensor = info.type.tensor_type
        if tensor.elem_type not in DTYPES:
            raise OnnxError(
                f"input {info.name!r} has the ONNX element type {tensor.elem_type}, "
                "which is not supported"
            )
        dtype = DTYPES[tensor.elem_type]
        if isinstance(self.dtypes, Mapping):
            dtype = self.dtypes.get(info.name, dtype)
        given = self.shape_dict.pop(info.name, None)
        if given is not None:
            if tensor.HasField("shape") and len(tensor.shape.dim) != len(given):
                raise OnnxError(
                    f"shape_dict gives input {info.name!r} {len(given)} dimensions, "
                    f"the model has {len(tensor.shape.dim)}"
                )
            return TensorType([self.given_dim(info, d) for d in given], dtype)
        if not tensor.HasField("shape"):
            raise OnnxError(
                f"input {info.name!r} has no shape in the model",
                hint=f"from_onnx(model, shape_dict={{{info.name!r}: [...]}})",
            )
        dims: list[Any] = []
        for dim in tensor.shape.dim:
            if dim.HasField("dim_value") and dim.dim_value > 0:
                dims.append(dim.dim_value)
            else:
                dims.append(self.symbol(dim.dim_param))
        return TensorType(dims, dtype)

    def given_dim(self, info: Any, dim: Any) -> Any:
        if isinstance(dim, str):
            return self.symbol(dim)
        if isinstance(dim, (int, np.integer)) and dim > 0:
            return int(dim)
        if isinstance(dim, Expr):
            return dim
        if dim is None or (isinstance(dim, int) and dim == -1):
            return self.symbol("")
        raise OnnxError(f"shape_dict: {info.name!r} has a dimension {dim!r}")

    def load_initializers(self) -> set[str]:
        from onnx import numpy_helper

        names = set()
        for tensor in self.graph.initializer:
            try:
                array = numpy_helper.to_array(tensor)
            except Exception as error:
                raise OnnxError(f"weight {tensor.name!r} cannot be read: {error}") from error
            names.add(tensor.name)
            if self.keep_params and array.dtype.kind == "f":
                var = Var(self._input_name(tensor.name), TensorType(array.shape, str(array.dtype)))
                self.weights.append((var, array))
                self.values[tensor.name] = var
            else:
                self.values[tensor.name] = const(np.ascontiguousarray(array).reshape(array.shape))
        return names

    def _input_name(self, name: str) -> str:
        return self.names.fresh(identifier(name, "input") if self.sanitize else name)

    # -- the graph ------------------------------------------------------------------------------

    def check_operators(self) -> None:
        unknown: dict[str, list[str]] = {}
        for position, node in enumerate(self.graph.node):
            known = node.domain in _STANDARD_DOMAINS and node.op_type in onnx_ops
            if not known:
                title = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
                unknown.setdefault(title, []).append(_node_name(node, position))
        if unknown:
            raise UnsupportedOperators(unknown)

    def run(self) -> IRModule:
        self.check_operators()
        initializers = self.load_initializers()
        params = []
        for info in self.graph.input:
            if info.name not in initializers:
                ty = self.input_type(info)
                var = Var(self._input_name(info.name), ty)
                self.values[info.name] = var
                params.append(var)
        if self.shape_dict:
            raise OnnxError(
                f"shape_dict names inputs that the model does not have: {sorted(self.shape_dict)}",
                hint=f"its inputs: {[p.name for p in params]}",
            )
        attrs: dict[str, Any] = {"num_input": len(params)}
        if self.weights:
            attrs["params"] = tuple(const(a).data for _, a in self.weights)
        bb = self.bb
        with bb.function("main", [*params, *(v for v, _ in self.weights)], attrs):
            with bb.dataflow():
                for position, node in enumerate(self.graph.node):
                    self.convert(node, position)
                bb.span = None
                output = self.outputs()
            bb.emit_func_output(output)
        return bb.get()

    def outputs(self) -> Expr:
        found: list[Expr] = []
        for info in self.graph.output:
            if info.name not in self.values:
                raise OnnxError(f"output {info.name!r} is computed by no node")
            found.append(self.as_tensor(self.values[info.name]))
        value = found[0] if len(found) == 1 else Tuple(found)
        return self.bb.emit_output(value)

    def as_tensor(self, value: Value) -> Expr:
        return NodeContext(self.bb, "Output", "output", [value], {}, self.opset).as_tensor(value)

    def convert(self, node: Any, position: int) -> None:
        name = _node_name(node, position)
        inputs: list[Value | None] = []
        for item in node.input:
            if item and item not in self.values:
                raise OnnxError(
                    f"{node.op_type} node {name!r} reads {item!r}, which no earlier node computes"
                )
            inputs.append(self.values[item] if item else None)
        self.check_node(node, name)
        context = NodeContext(
            self.bb, node.op_type, name, inputs, _attributes(node, name), self.opset,
            sum(1 for o in node.output if o),
        )  # fmt: skip
        self.bb.span = Span(SourceName("onnx"), origin=f"{node.op_type} {name}")
        results = self.call(context)
        self.check_ignored(context)
        for output, value in zip(node.output, results, strict=False):
            if output:
                self.values[output] = self.bound(value, output)
        missing = [o for o in list(node.output)[len(results) :] if o]
        if missing:
            raise context.fail(f"the outputs {missing} are not supported")

    def check_node(self, node: Any, name: str) -> None:
        """Attributes and the number of inputs against the operator's schema in this set."""
        from onnx import defs

        what = f"{node.op_type} node {name!r}"
        try:
            schema = defs.get_schema(node.op_type, self.opset, "")
        except defs.SchemaError as error:
            raise OnnxError(f"{what}: {error}") from error
        if schema.deprecated:
            raise OnnxError(f"{what}: the operator is no longer part of operator set {self.opset}")
        given = {a.name for a in node.attribute}
        for unknown in sorted(given - set(schema.attributes)):
            known = ", ".join(sorted(schema.attributes)) or "none"
            raise OnnxError(
                f"{what}: operator set {self.opset} has no attribute {unknown!r} here",
                hint=did_you_mean(unknown, list(schema.attributes)) or f"its attributes: {known}",
            )
        for key, attribute in schema.attributes.items():
            if attribute.required and key not in given:
                raise OnnxError(f"{what}: the attribute {key!r} is missing")
        if not schema.min_input <= len(node.input) <= schema.max_input:
            takes = (
                f"{schema.min_input}"
                if schema.min_input == schema.max_input
                else f"{schema.min_input} to {schema.max_input}"
            )
            raise OnnxError(f"{what}: expected {takes} inputs, got {len(node.input)}")
        for output in node.output:
            if output and output in self.values:
                raise OnnxError(f"{what}: its output {output!r} has been computed before")

    def check_ignored(self, context: NodeContext) -> None:
        """Fails for an attribute that its converter did not look at, unless it says nothing."""
        from onnx import defs, helper

        unread = set(context.attrs) - context.read - _WITHOUT_EFFECT
        for name in sorted(unread):
            schema = defs.get_schema(context.op_type, self.opset, "")
            default = schema.attributes[name].default_value
            usual = helper.get_attribute_value(default) if default.type else None
            usual = usual.decode() if isinstance(usual, bytes) else usual
            value = context.attrs[name]
            if usual is None or not np.array_equal(value, usual):
                raise context.fail(f"the attribute {name} = {value!r} is not supported")

    def call(self, context: NodeContext) -> list[Value]:
        try:
            host = host_ops.get(context.op_type)
            if host is not None:
                value = host(context)
                if value is not None:
                    return [value]
            result = onnx_ops[context.op_type](context)
        except OnnxError:
            raise
        except (WorkbenchError, ValueError, TypeError, IndexError) as error:
            raise context.fail(str(error)) from error
        return list(result) if isinstance(result, list) else [result]

    def bound(self, value: Value, name: str) -> Value:
        """Binds a computed expression to a variable."""
        if isinstance(value, (HostValue, Var, Constant)):
            return value
        return self.bb.emit(value)


def _node_name(node: Any, position: int) -> str:
    if node.name:
        return node.name
    return next((o for o in node.output if o), f"#{position}")


def _attributes(node: Any, name: str) -> dict[str, Any]:
    from onnx import AttributeProto, helper, numpy_helper

    out: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.type == AttributeProto.TENSOR:
            out[attribute.name] = numpy_helper.to_array(attribute.t)
            continue
        if attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
            raise OnnxError(f"{node.op_type} node {name!r} contains a graph ({attribute.name})")
        value = helper.get_attribute_value(attribute)
        out[attribute.name] = value.decode() if isinstance(value, bytes) else value
    return out


def from_onnx(
    model: Any,
    shape_dict: Mapping[str, Sequence[Any]] | None = None,
    dtype_dict: str | Mapping[str, str] | None = "float32",
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
) -> IRModule:
    """Imports an ONNX model.

    Parameters
    ----------
    model : an `onnx.ModelProto`, the bytes of one, or a path.
    shape_dict : shapes of inputs by name; an entry may be an integer, the name of a symbolic
        dimension, or -1. Dimensions that neither it nor the model fixes stay symbolic.
    dtype_dict : dtypes of inputs by name, overriding the model's.
    opset : the operator set version, if the model's own is wrong.
    keep_params_in_input : floating-point weights become parameters of `main` (their values in its
        attribute `params`) instead of constants.
    sanitize_input_names : turn input names into identifiers.

    Returns
    -------
    A module with the function `main`; its attribute `num_input` counts the model's own inputs.

    Raises
    ------
    OnnxError : the input is no readable ONNX model, or a node cannot be converted (named).
    UnsupportedOperators : all operators that are not supported, with their nodes.
    """
    proto = load_model(model)
    importer = _Importer(
        proto, shape_dict or {}, dtype_dict, opset, keep_params_in_input, sanitize_input_names
    )
    return importer.run()


def supported_operators() -> list[str]:
    """Names of the ONNX operators that can be imported."""
    return onnx_ops.names()
