"""Kernels and bytes that ``benchmarks/hlo_cost.py`` counts in the text of a compiled program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import hlo_cost
import hlo_text
from hlo_cost import Cost, Loop

pytestmark = pytest.mark.quick

PROGRAM = """HloModule jit_f, is_scheduled=true

%fused_sum (param_0: f32[100], param_1: f32[100]) -> f32[100] {
  %param_0 = f32[100]{0} parameter(0)
  %param_1 = f32[100]{0} parameter(1)
  ROOT %add.1 = f32[100]{0} add(%param_0, %param_1)
}

%fused_update (param_0.1: f32[1000], param_1.1: f32[100], param_2.1: s32[]) -> f32[1000] {
  %param_0.1 = f32[1000]{0} parameter(0)
  %param_1.1 = f32[100]{0} parameter(1)
  %param_2.1 = s32[] parameter(2)
  ROOT %dus = f32[1000]{0} dynamic-update-slice(%param_0.1, %param_1.1, %param_2.1)
}

%inner (arg.1: (f32[100])) -> (f32[100]) {
  %arg.1 = (f32[100]{0}) parameter(0)
  %x.1 = f32[100]{0} get-tuple-element(%arg.1), index=0
  %y.1 = f32[100]{0} fusion(%x.1, %x.1), kind=kLoop, calls=%fused_sum
  ROOT %t.1 = (f32[100]{0}) tuple(%y.1)
}

%c (arg.2: (f32[1000], f32[100], s32[])) -> pred[] {
  %arg.2 = (f32[1000]{0}, f32[100]{0}, s32[]) parameter(0)
  %i.2 = s32[] get-tuple-element(%arg.2), index=2
  %three = s32[] constant(3)
  ROOT %less = pred[] compare(%i.2, %three), direction=LT
}

%body (arg: (f32[1000], f32[100], s32[])) -> (f32[1000], f32[100], s32[]) {
  %arg = (f32[1000]{0}, f32[100]{0}, s32[]) parameter(0)
  %big = f32[1000]{0} get-tuple-element(%arg), index=0
  %small = f32[100]{0} get-tuple-element(%arg), index=1
  %i = s32[] get-tuple-element(%arg), index=2
  %slice = f32[100]{0} dynamic-slice(%big, %i), dynamic_slice_sizes={100}
  %sum = f32[100]{0} fusion(%slice, %small), kind=kLoop, calls=%fused_sum
  %packed = (f32[100]{0}) tuple(%sum)
  %while.1 = (f32[100]{0}) while(%packed), condition=%c, body=%inner, backend_config={"known_trip_count":{"n":"3"}}
  %new = f32[1000]{0} fusion(%big, %sum, %i), kind=kLoop, calls=%fused_update
  ROOT %out = (f32[1000]{0}, f32[100]{0}, s32[]) tuple(%new, %sum, %i)
}

ENTRY %main (p: f32[1000], q: f32[100], r: s32[]) -> f32[1000] {
  %p = f32[1000]{0} parameter(0)
  %q = f32[100]{0} parameter(1)
  %r = s32[] parameter(2)
  %init = (f32[1000]{0}, f32[100]{0}, s32[]) tuple(%p, %q, %r)
  %while = (f32[1000]{0}, f32[100]{0}, s32[]) while(%init), condition=%c, body=%body
  ROOT %result = f32[1000]{0} get-tuple-element(%while), index=0
}
"""


def entry(*lines: str) -> str:
    """A program of an entry computation alone."""
    return "\n".join(["HloModule jit_f", "", "ENTRY %main () -> f32[] {", *(f"  {line}" for line in lines), "}"])


def test_a_step_counts_what_its_kernels_touch():
    slice_, sum_, inner, update, less = 400 + 400 + 4, 3 * 400, 3 * 3 * 400, 400 + 400 + 4, 4 + 4 + 1
    step = Cost(1 + 1 + 3 + 1 + 1, 1 + 3 + 1, slice_ + sum_ + inner + update + less)
    assert hlo_cost.loops(PROGRAM) == [Loop("body", step)]
    assert hlo_cost.main_loop(PROGRAM) == Loop("body", step)
    assert hlo_cost.whole(PROGRAM) == step


def test_loops_of_a_scope_can_be_left_out():
    named = PROGRAM.replace("body=%body", 'body=%body, metadata={op_name="jit(f)/judge/while"}')
    (loop,) = hlo_cost.loops(named)
    assert loop.scope == "jit(f)/judge/while"
    assert hlo_cost.main_loop(named) == hlo_cost.main_loop(named, left_out="jud") == loop
    with pytest.raises(ValueError, match="no loop"):
        hlo_cost.main_loop(named, left_out="judge")


COUNTED = PROGRAM.replace("%r = s32[] parameter(2)", "%one = s32[] constant(1)\n  %r = s32[] copy(%one)").replace(
    "tuple(%new, %sum, %i)\n", "tuple(%new, %sum, %more)\n  %unit = s32[] constant(1)\n  %more = s32[] add(%i, %unit)\n"
)


def test_a_loop_with_a_counter_from_one_constant_to_another_has_a_known_length():
    """Programs for TPUs do not note the length."""
    assert not hlo_cost.loops(COUNTED)
    added, copied = Cost(1, 0, 12), Cost(1, 0, 8)
    step = hlo_cost.main_loop(PROGRAM).step
    test = Cost(1, 0, 9)  # of the condition, which is left out where the length is known
    twice = Cost(*(2 * (mine + its - condition) for mine, its, condition in zip(step, added, test, strict=True)))
    assert hlo_cost.whole(COUNTED) == twice.plus(copied)


@pytest.mark.parametrize(
    ("was", "other"),
    [
        ("direction=LT", "direction=GT"),
        ("%unit = s32[] constant(1)", "%unit = s32[] constant(2)"),
        ("s32[] add(%i, %unit)", "s32[] multiply(%i, %unit)"),
        ("%one = s32[] constant(1)", "%one = s32[] parameter(2)"),
        ("%three = s32[] constant(3)", "%three = s32[] get-tuple-element(%arg.2), index=2"),
    ],
)
def test_other_loops_have_none(was, other):
    assert was in COUNTED
    assert len(hlo_cost.loops(COUNTED.replace(was, other))) == 1


def test_the_dearer_branch_of_a_condition_counts():
    branches = PROGRAM.replace(
        "%while.1 = (f32[100]{0}) while(%packed), condition=%c, body=%inner, "
        'backend_config={"known_trip_count":{"n":"3"}}',
        "%if = (f32[100]{0}) conditional(%i, %packed, %packed), branch_computations={%inner, %inner}",
    )
    assert branches != PROGRAM
    assert hlo_cost.main_loop(branches).step.kernels == hlo_cost.main_loop(PROGRAM).step.kernels - 2


def test_text_without_a_program_or_a_loop_is_refused():
    with pytest.raises(ValueError, match="no ENTRY computation"):
        hlo_cost.loops("nothing")
    plain = entry("ROOT %p = f32[1]{0} parameter(0)")
    with pytest.raises(ValueError, match="no loop"):
        hlo_cost.main_loop(plain)
    assert hlo_cost.whole(plain) == Cost()


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ("f32[3,5]{1,0}", (60,)),
        ("(bf16[4]{0}, pred[7]{0}, /*index=2*/s4[4]{0}, f8e4m3fn[3]{0}, token[])", (8, 7, 2, 3)),
        ("u32[]", (4,)),
        ("u32[9,5]{1,0:T(8,128)}", (4 * 16 * 128,)),
        ("u32[9,5]{0,1:T(8,128)}", (4 * 128 * 8,)),
        ("pred[3,9,5]{2,1,0:T(8,128)(4,1)}", (3 * 16 * 128,)),
        ("u32[81,27,9]{1,0,2:T(8,128)S(1)}", (0,)),
        ("s32[130]{0:T(256)S(5)}", (0,)),
        ("s32[130]{0:T(256)}", (1024,)),
        ("f32[8]{0:S(1)}", (32,)),
        ("(u32[8,128]{1,0:T(8,128)}, u32[2]{0:T(128)S(2)})", (4096, 0)),
    ],
)
def test_shapes_with_tiles_and_memories(shape, sizes):
    module = hlo_text.parse(entry(f"ROOT %x = {shape} fusion(%y, %z), kind=kLoop, calls=%f"))
    (instruction,) = module.computations[module.entry]
    assert tuple(shape.stored for shape in instruction.shapes) == sizes
    assert (instruction.op, instruction.operands) == ("fusion", ("y", "z"))


def test_an_asynchronous_kernel_counts_once():
    copied = entry(
        "%p = f32[100]{0} parameter(0)",
        "%start = (f32[100]{0}, f32[100]{0}, u32[]) copy-start(%p)",
        "ROOT %done = f32[100]{0} copy-done(%start)",
    )
    assert hlo_cost.whole(copied) == Cost(1, 0, 800)
    sliced = entry(
        "%p = f32[100]{0} parameter(0)",
        "%start = ((f32[100]{0}), f32[10]{0}, u32[]) slice-start(%p), slice={[0:10]}",
        "ROOT %done = f32[10]{0} slice-done(%start)",
    )
    assert hlo_cost.whole(sliced) == Cost(1, 0, 80)
    wrapped = PROGRAM.replace(
        "%y.1 = f32[100]{0} fusion(%x.1, %x.1), kind=kLoop, calls=%fused_sum",
        "%s.1 = ((f32[100]{0}), f32[100]{0}, u32[]) async-start(%x.1, %x.1), calls=%wrapped\n"
        "  %u.1 = ((f32[100]{0}), f32[100]{0}, u32[]) async-update(%s.1)\n"
        "  %y.1 = f32[100]{0} async-done(%u.1)",
    ).replace(
        "%inner (",
        "%wrapped (p.9: f32[100]) -> f32[100] {\n"
        "  %p.9 = f32[100]{0} parameter(0)\n"
        "  ROOT %z.9 = f32[100]{0} fusion(%p.9, %p.9), kind=kLoop, calls=%fused_sum\n}\n\n%inner (",
    )
    assert "async-done" in wrapped
    assert hlo_cost.loops(wrapped) == hlo_cost.loops(PROGRAM)


def test_a_library_call_is_a_kernel_without_its_scratch_memory():
    product = entry(
        "%a = f32[10,10]{1,0} parameter(0)",
        "%b = f32[10,10]{1,0} parameter(1)",
        "%call = (f32[10,10]{1,0}, s8[4194304]{0}) custom-call(%a, %b), "
        'custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"beta":0}}',
        "ROOT %result = f32[10,10]{1,0} get-tuple-element(%call), index=0",
    )
    assert hlo_cost.whole(product) == Cost(1, 0, 1200)
    room = entry('ROOT %room = f32[100]{0} custom-call(), custom_call_target="AllocateBuffer"')
    assert hlo_cost.whole(room) == Cost()


def test_a_kernel_for_gpus_reads_no_more_of_a_stack_than_it_writes():
    kernel = entry(
        "%stack = u32[29,100000]{1,0} parameter(0)",
        "%bounds = s32[2]{0} parameter(1)",
        "ROOT %k = (u32[28,100]{1,0}, u32[1,100]{1,0}) custom-call(%stack, %bounds), "
        'custom_call_target="mosaic_gpu_v2"',
    )
    assert hlo_cost.whole(kernel) == Cost(1, 0, 2 * 29 * 400 + 8)


def test_a_sort_reads_and_writes_all_its_arrays():
    lines = "%k = f32[100]{0} parameter(0)", "%v = s32[100]{0} parameter(1)"
    sort = "ROOT %s = (f32[100]{0}, s32[100]{0}) sort(%k, %v), dimensions={0}, to_apply=%compare"
    assert hlo_cost.whole(entry(*lines, sort)) == Cost(1, 0, 1600)


def fused(result: str, *lines: str, operands: str = "%b, %s") -> str:
    """A program with one fusion of parameters f32[1000] and f32[10], whose parameters are not in order."""
    return "\n".join(
        [
            "HloModule jit_f",
            "",
            f"%fused (q: f32[10], p: f32[1000]) -> {result} {{",
            "  %q = f32[10]{0} parameter(1)",
            "  %p = f32[1000]{0} parameter(0)",
            "  %i = s32[] constant(3)",
            *(f"  {line}" for line in lines),
            "}",
            "",
            f"ENTRY %main (b: f32[1000], s: f32[10]) -> {result} {{",
            "  %b = f32[1000]{0} parameter(0)",
            "  %s = f32[10]{0} parameter(1)",
            f"  ROOT %f = {result} fusion({operands}), kind=kLoop, calls=%fused",
            "}",
        ]
    )


def test_what_a_tpu_keeps_on_the_chip_is_not_moved():
    chip, memory = "f32[1000]{0:T(1024)S(1)}", "f32[1000]{0:T(1024)}"
    fetched = entry(f"%p = {memory} parameter(0)", f"ROOT %c = {chip} copy(%p)")
    assert hlo_cost.whole(fetched) == Cost(1, 0, 4096)
    kept = entry(f"%p = {chip} parameter(0)", f"ROOT %c = {chip} copy(%p)")
    assert hlo_cost.whole(kept) == Cost(1, 0, 0)
    written = entry(
        "%b = f32[8192]{0:T(1024)} parameter(0)",
        f"%u = {chip} parameter(1)",
        "%i = s32[]{:T(128)S(6)} parameter(2)",
        "ROOT %d = f32[8192]{0:T(1024)} dynamic-update-slice(%b, %u, %i)",
    )
    assert hlo_cost.whole(written) == Cost(1, 0, 4096)


def test_a_buffer_that_is_updated_in_place_counts_its_updates():
    first = "%d.1 = f32[1000]{0} dynamic-update-slice(%p, %q, %i)"
    second = "ROOT %d.2 = f32[1000]{0} dynamic-update-slice(%d.1, %q, %i)"
    assert hlo_cost.whole(fused("f32[1000]{0}", first, second)).bytes == 40 + 2 * 40
    zeros = "%z = f32[1000]{0} broadcast(%i), dimensions={}"
    new = "ROOT %d = f32[1000]{0} dynamic-update-slice(%z, %q, %i)"
    assert hlo_cost.whole(fused("f32[1000]{0}", zeros, new)).bytes == 40 + 4000  # not in place: all of it is new


def test_a_result_of_a_fusion_may_be_a_tuple():
    both = "(f32[10]{0}, (s32[]{:T(128)}, s32[10]{0}))"
    lines = ["%n = f32[10]{0} negate(%q)", "%r = (s32[], s32[10]{0}) reduce(%q, %p), to_apply=%f"]
    text = fused(both, *lines, f"ROOT %t = {both} tuple(%n, %r)")
    assert hlo_cost.whole(text).bytes == 40 + 4000 + 40 + 4 + 40


def test_a_fusion_in_a_fusion_reads_what_it_slices():
    inner = "ROOT %n = f32[10]{0} fusion(%q, %p), kind=kLoop, calls=%nested"
    nested = """%nested (x: f32[10], y: f32[1000]) -> f32[10] {
  %y = f32[1000]{0} parameter(1)
  %x = f32[10]{0} parameter(0)
  %part = f32[10]{0} slice(%y), slice={[0:10]}
  ROOT %sum.2 = f32[10]{0} add(%x, %part)
}
"""
    text = fused("f32[10]{0}", inner).replace("%fused (q", nested + "\n%fused (q")
    assert hlo_cost.whole(text) == Cost(1, 1, 3 * 40)


@pytest.mark.parametrize(
    "op",
    [
        "all-reduce(%x.1), to_apply=%add",
        "all-gather-start(%x.1), dimensions={0}",
        "collective-permute-start(%x.1), source_target_pairs={{0,1}}",
        "all-to-all(%x.1)",
        "reduce-scatter(%x.1), to_apply=%add",
    ],
)
def test_collectives_are_found_in_loops_alone(op):
    assert hlo_cost.collectives_in_loops(PROGRAM) == []
    inside = PROGRAM.replace("  %y.1 =", f"  %comm.1 = f32[100]{{0}} {op}\n  %y.1 =")
    assert hlo_cost.collectives_in_loops(inside) == ["comm.1"]
    outside = PROGRAM.replace("  %init =", f"  %comm.1 = f32[100]{{0}} {op.replace('%x.1', '%q')}\n  %init =")
    assert hlo_cost.collectives_in_loops(outside) == []
