"""ConvertToDataflow and ToNonDataflow: where the pure parts of a function are."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import iter_nodes, rewrite
from workbench.ir.expr import Var
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    SeqExpr,
)
from workbench.relax.transform.purity import is_impure


@define_pass("relax.ConvertToDataflow", level="function_in_module", on=Function)
def ConvertToDataflow(
    func: Function, mod: IRModule, ctx: PassContext, *, min_size: int = 2
) -> Function:
    """Puts runs of at least `min_size` pure bindings into dataflow blocks.

    lv = R.exp(x);  gv = R.log(lv)
    →
    with R.dataflow():
        lv = R.exp(x);  gv = R.log(lv);  R.output(gv)
    """

    def convert(seq: SeqExpr) -> Any:
        seq = yield seq
        blocks: list[BindingBlock] = []
        for block in seq.blocks:
            if isinstance(block, DataflowBlock):
                blocks.append(block)
            else:
                blocks.extend(_split(block, mod, min_size))
        if len(blocks) == len(seq.blocks) and all(
            a is b for a, b in zip(blocks, seq.blocks, strict=True)
        ):
            return seq
        return seq.replace(blocks=tuple(blocks))

    return _hide_inner_vars(rewrite(func, {SeqExpr: convert}))


def _split(block: BindingBlock, mod: IRModule, min_size: int) -> list[BindingBlock]:
    """The block cut into pure runs and the rest."""
    runs: list[tuple[bool, list[Binding]]] = []
    for binding in block.bindings:
        value: Any = binding.value  # type: ignore[attr-defined]
        pure = not isinstance(value, (If, Function)) and not is_impure(value, mod)
        if not runs or runs[-1][0] != pure:
            runs.append((pure, []))
        runs[-1][1].append(binding)
    out: list[BindingBlock] = []
    for pure, bindings in runs:
        if pure and len(bindings) >= min_size:
            out.append(DataflowBlock(tuple(bindings)))
        elif out and not isinstance(out[-1], DataflowBlock):
            out[-1] = out[-1].replace(bindings=(*out[-1].bindings, *bindings))
        else:
            out.append(BindingBlock(tuple(bindings)))
    return [block] if len(out) == 1 and type(out[0]) is type(block) else out


def _hide_inner_vars(func: Function) -> Function:
    """Variables that do not leave their dataflow block become `DataflowVar`s."""
    home: dict[int, int] = {}  # variable → its dataflow block
    inner: dict[int, Var] = {}
    for number, block in enumerate(iter_nodes(func, DataflowBlock)):
        for binding in block.bindings:
            home[id(binding.var)] = number
            if not isinstance(binding.var, DataflowVar):
                inner[id(binding.var)] = binding.var
    if not inner:
        return func
    uses = _uses_outside(func, home)
    images = {key: DataflowVar(v.name, v.ty, v.span) for key, v in inner.items() if key not in uses}
    return rewrite(func, {Var: lambda v: images.get(id(v))}) if images else func


def _uses_outside(func: Function, home: dict[int, int]) -> set[int]:
    """Variables of dataflow blocks that are used outside their block."""
    used: set[int] = set()
    number = -1
    for seq in iter_nodes(func, SeqExpr):
        used.update(id(v) for v in iter_nodes(seq.body, Var))
        for block in seq.blocks:
            if isinstance(block, DataflowBlock):
                continue
            for binding in block.bindings:
                value = binding.value
                parts = (value.cond,) if isinstance(value, If) else (value,)
                used.update(id(v) for v in iter_nodes(parts, Var))
    for number, block in enumerate(iter_nodes(func, DataflowBlock)):
        for binding in block.bindings:
            for v in iter_nodes(binding.value, Var):
                if home.get(id(v), number) != number:
                    used.add(id(v))
    return used


@define_pass("relax.ToNonDataflow", level="function", on=Function)
def ToNonDataflow(func: Function, ctx: PassContext) -> Function:
    """Dataflow blocks become plain blocks, their variables plain variables.

    with R.dataflow():  lv = R.exp(x);  R.output(lv)
    →
    lv = R.exp(x)
    """

    def block(node: DataflowBlock) -> BindingBlock:
        return BindingBlock(node.bindings, span=node.span)

    def variable(node: DataflowVar) -> Var:
        return Var(node.name, node.ty, node.span)

    return rewrite(func, {DataflowBlock: block, DataflowVar: variable})
