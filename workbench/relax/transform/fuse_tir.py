"""FuseTIR: the kernels of a fused function become one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.names import NameSupply
from workbench.core.traverse import iter_nodes, rewrite
from workbench.ir.expr import Call, Expr, GlobalVar, Var
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.expr import Function, ShapeExpr, Tuple, TupleGetItem
from workbench.relax.op.base import call_tir
from workbench.relax.transform.rewriter import BindingRewriter, rewrite_bindings
from workbench.relax.type import ShapeType, TensorType
from workbench.tirx.buffer import BufferType, decl_buffer
from workbench.tirx.expr import IterVar
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import Bind, For, SBlock, SBlockRealize, SeqStmt, Stmt


@define_pass("relax.FuseTIR")
def FuseTIR(mod: IRModule, ctx: PassContext) -> IRModule:
    """Makes one kernel of every function that FuseOps made, and `call_tir`s of the calls of them.

        gv = cls.fused_conv2d_relu(x, w)
        →
        gv = R.call_tir(cls.fused_conv2d_relu, (x, w), out_ty=…)

    Values between the kernels become buffers of the new kernel's root block. Kernels that nothing
    calls any more are dropped.
    """
    fused: dict[GlobalVar, PrimFunc] = {}
    for gvar, func in mod.functions.items():
        if isinstance(func, Function) and func.attrs.get("Primitive"):
            fused[gvar] = _Merger(mod, func).run()
    if not fused:
        return mod
    functions: dict[GlobalVar, Any] = {}
    for gvar, func in mod.functions.items():
        if gvar in fused:
            functions[gvar] = fused[gvar]
        elif isinstance(func, Function):
            functions[gvar] = _call_kernels(func, fused)
        else:
            functions[gvar] = func
    return mod.replace(functions=_without_unused(mod, functions))


def _without_unused(mod: IRModule, functions: dict[GlobalVar, Any]) -> dict[GlobalVar, Any]:
    """Drops private kernels that were called before and are not called now."""
    before = {g for f in mod.functions.values() for g in iter_nodes(f, GlobalVar)}
    after = {g for f in functions.values() for g in iter_nodes(f, GlobalVar)}
    return {
        g: f
        for g, f in functions.items()
        if not (
            isinstance(f, PrimFunc)
            and g in before
            and g not in after
            and "global_symbol" not in f.attrs
        )
    }


def _call_kernels(func: Function, fused: dict[GlobalVar, PrimFunc]) -> Function:
    def visit(binding: Any, run: BindingRewriter) -> None:
        call = binding.value
        if isinstance(call, Call) and isinstance(call.op, GlobalVar) and call.op in fused:
            args = list(call.args)
            scalars = args.pop() if args and isinstance(args[-1], ShapeExpr) else None
            new = call_tir(call.op, args, call.ty, scalars)
            run.bind(binding, new.replace(span=call.span))
        else:
            run.keep(binding)

    return rewrite_bindings(func, visit)


class _Merger:
    """Builds the kernel of one fused function."""

    def __init__(self, mod: IRModule, func: Function) -> None:
        self.mod = mod
        self.func = func
        self.buffers: dict[int, Var] = {}  # by id of the Relax variable
        self.tuples: dict[int, list[Var]] = {}  # those of kernels with several outputs
        self.scalars: list[Var] = []
        self.statements: list[Stmt] = []
        self.allocated: list[Var] = []
        self.used: set[GlobalVar] = set()
        self.block_names = NameSupply({"root"})
        self.buffer_names = NameSupply()
        self.pattern = 0

    def run(self) -> PrimFunc:
        params = [self.parameter(p) for p in self.func.params]
        params = [p for p in params if p is not None]
        result = self.func.body.body
        made: list[Var] = []
        for block in self.func.body.blocks:
            for binding in block.bindings:
                value: Any = binding.value  # type: ignore[attr-defined]
                if isinstance(value, TupleGetItem):
                    picked = self.tuples[id(value.tuple_value)][value.index]
                    self.buffers[id(binding.var)] = picked
                else:
                    made.extend(self.kernel(binding))
        outputs = self.tuples.get(id(result)) or [
            self.buffers[i] for i in (id(result),) if i in self.buffers
        ]
        results = {id(b) for b in outputs}
        self.allocated.extend(b for b in made if id(b) not in results)
        if not results & {id(b) for b in made}:
            raise WorkbenchError(
                "FuseTIR: the result of a fused function is not the result of a kernel",
                nodes=(result,),
                root=self.func,
            )
        root = SBlock(
            (),
            (),
            (),
            "root",
            SeqStmt.flatten(self.statements),
            alloc_buffers=tuple(self.allocated),
            span=self.func.span,
        )
        attrs = {"op_pattern": self.pattern, "s_tir": True, "tirx.noalias": True}
        return PrimFunc(
            [*params, *outputs, *self.scalars],
            SBlockRealize((), True, root, span=self.func.span),
            None,
            attrs,
            self.func.span,
        )

    def parameter(self, param: Var) -> Var | None:
        """The buffer of a parameter; a parameter of shape type gives scalars instead."""
        ty = param.ty
        if isinstance(ty, ShapeType):
            self.scalars.extend(v for v in ty.values or () if isinstance(v, Var))
            return None
        buffer = self.buffer(ty, param.name)
        self.buffers[id(param)] = buffer
        return buffer

    def buffer(self, ty: TensorType, name: str) -> Var:
        assert ty.dims is not None
        assert ty.dtype is not None
        return decl_buffer(ty.dims, str(ty.dtype), self.buffer_names.fresh(name))

    def kernel(self, binding: Any) -> list[Var]:
        """Adds the statements of one `call_tir`; returns its output buffers."""
        call = binding.value
        gvar = call.args[0]
        kernel: Any = self.mod[gvar]
        operands = call.args[1].fields if isinstance(call.args[1], Tuple) else (call.args[1],)
        inputs = [self.buffers[id(o)] for o in operands]
        places = [p for p in kernel.params if isinstance(p.ty, BufferType)]
        count = len(inputs)
        types = call.ty.fields if hasattr(call.ty, "fields") else (call.ty,)
        outputs = [self.buffer(t, p.name) for t, p in zip(types, places[count:], strict=True)]
        images: dict[int, Expr] = {}
        kept: list[Any] = []
        scalars = [p for p in kernel.params if not isinstance(p.ty, BufferType)]
        values = call.args[2].values if len(call.args) > 2 else ()
        for place, value in zip(scalars, values, strict=True):
            images[id(place)] = value
            kept.append(place)
        for place, actual in zip(places, [*inputs, *outputs], strict=True):
            images[id(place)] = actual
            for size, given in zip(place.shape, actual.shape, strict=True):
                if isinstance(size, Var):
                    images.setdefault(id(size), given)
        self.take(kernel, images, binding)
        if hasattr(call.ty, "fields"):
            self.tuples[id(binding.var)] = outputs
        else:
            self.buffers[id(binding.var)] = outputs[0]
        self.used.add(gvar)
        self.pattern = max(self.pattern, int(kernel.attrs.get("op_pattern", 8)))
        return outputs

    def take(self, kernel: PrimFunc, images: dict[int, Expr], binding: Any) -> None:
        """Adds a kernel's statements over this kernel's buffers, with fresh variables and names."""
        body: Any = kernel.body
        for var in _bound(body):
            if isinstance(var.ty, BufferType):
                ty = rewrite(var.ty, {Var: lambda v: images.get(id(v))})
                images[id(var)] = Var(self.buffer_names.fresh(var.name), ty)
            else:
                images[id(var)] = Var(var.name, var.ty)
        span = binding.span

        def variable(node: Var) -> Any:
            found = images.get(id(node))
            if found is not None:
                return found
            return (yield node)

        def block(node: SBlock) -> Any:
            name = self.block_names.fresh(node.name_hint) if node.name_hint != "root" else "root"
            return node.replace(name_hint=name, span=span or node.span)

        body = rewrite(body, {Var: variable, SBlock: block})
        if isinstance(body, SBlockRealize) and not body.block.iter_vars:
            if body.block.name_hint == "root":
                self.allocated.extend(body.block.alloc_buffers)
                self.statements.append(body.block.body)
                return
        self.statements.append(body)


def _bound(body: Stmt) -> Sequence[Var]:
    """Variables that a body binds: loops, block axes, lets, buffers."""
    found: list[Var] = []
    for node in iter_nodes(body, For, IterVar, Bind, SBlock):
        if isinstance(node, For):
            found.append(node.loop_var)
        elif isinstance(node, SBlock):
            found.extend(node.alloc_buffers)
        else:
            found.append(node.var)
    return found
