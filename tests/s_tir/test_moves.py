"""The menu of legal moves: what it offers, what it says about the rest."""

import random

import pytest

from workbench.ir import assert_structural_equal
from workbench.s_tir import Schedule, ScheduleError
from workbench.s_tir.schedule import apply_move, instruction_kinds, legal_moves
from workbench.testing.schedules import matmul


def menu(sch, target):
    return {(m.primitive, m.label): m for m in legal_moves(sch, target)}


def test_why_not_vectorize():
    sch = Schedule(matmul())
    k = sch.get_loops("C")[2]
    moves = menu(sch, k)
    no = moves["vectorize", "vectorize"]
    assert not no.ok and "reduction variable 'v_k' of block 'C'" in no.reason
    assert "rfactor" in no.reason
    assert moves["unroll", "unroll"].ok
    assert any(p == "rfactor" and m.ok for (p, _), m in moves.items())


def test_moves_do_what_they_say():
    start = Schedule(matmul())
    targets = [start.get_sblock("C"), start.get_sblock("D"), *start.get_loops("C")]
    for target in targets:
        for move in start.legal_moves(target):
            sch = start.copy()
            if move.ok:
                apply_move(sch, move)
                assert sch.mod is not start.mod
            else:
                with pytest.raises(ScheduleError):
                    apply_move(sch, move)


def test_the_menu_changes_nothing():
    sch = Schedule(matmul())
    b = sch.get_sblock("C")
    before, count = sch.mod, len(sch.history)
    sch.legal_moves(b)
    assert sch.mod is before and len(sch.history) == count


def test_moves_by_reference_and_node():
    sch = Schedule(matmul())
    b = sch.get_sblock("C")
    by_rv = [repr(m) for m in sch.legal_moves(b)]
    assert by_rv == [repr(m) for m in sch.legal_moves(sch.get_sref(b))]
    assert by_rv == [repr(m) for m in sch.legal_moves(sch.get(b))]


def test_most_primitives_are_in_the_menu():
    sch = Schedule(matmul())
    b = sch.get_sblock("C")
    offered = {
        m.primitive for t in [b, sch.get_sblock("D"), *sch.get_loops(b)] for m in sch.legal_moves(t)
    }
    wanted = {k.method for _, k in instruction_kinds.items() if k.moves is not None}
    assert wanted <= offered


@pytest.mark.parametrize("seed", range(6))
def test_applied_moves_replay_on_a_fresh_schedule(seed):
    rng = random.Random(seed)
    sch = Schedule(matmul())
    done = 0
    while done < 5:
        blocks = sch.state.blocks_below(sch.sref_of(sch.get_sblock("root")).key)
        block = rng.choice(blocks)
        target = rng.choice([block, *sch.state.loops_above(block.key)]).stmt
        legal: dict[str, list] = {}
        for move in sch.legal_moves(target):
            if move.ok:
                legal.setdefault(move.primitive, []).append(move)
        if not legal:
            continue
        move = rng.choice(legal[rng.choice(sorted(legal))])
        if rng.random() < 0.5:
            apply_move(sch, move)
        else:
            sch = sch.copy()
            apply_move(sch, move)
        done += 1
    again = Schedule(matmul())
    sch.trace.apply_to_schedule(again)
    assert_structural_equal(again.mod, sch.mod)
    by_text = Schedule(matmul())
    scope = {"sch": by_text}
    exec("\n".join(sch.trace.as_python()), scope)
    assert_structural_equal(by_text.mod, sch.mod)


def test_a_move_uses_the_variables_the_trace_has():
    sch = Schedule(matmul())
    loops = sch.get_loops(sch.get_sblock("C"))
    move = next(m for m in sch.legal_moves(loops[0]) if m.primitive == "unroll" and m.ok)
    before = len(sch.trace.insts)
    apply_move(sch, move)
    assert len(sch.trace.insts) == before + 1
    assert sch.trace.insts[-1].args["loop"] is loops[0]
