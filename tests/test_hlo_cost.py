"""Kernels and bytes that ``benchmarks/hlo_cost.py`` counts in the text of a compiled program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import hlo_cost

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


def test_a_step_counts_what_its_kernels_touch():
    slice_, sum_, inner, update = 400 + 400 + 4, 3 * 400, 3 * 3 * 400, 400 + 400 + 4
    assert hlo_cost.loops(PROGRAM) == [hlo_cost.Loop("body", 1 + 1 + 3 + 1, slice_ + sum_ + inner + update)]
    assert hlo_cost.main_loop(PROGRAM).name == "body"


def test_the_dearer_branch_of_a_condition_counts():
    branches = PROGRAM.replace(
        "%while.1 = (f32[100]{0}) while(%packed), condition=%c, body=%inner, "
        'backend_config={"known_trip_count":{"n":"3"}}',
        "%if = (f32[100]{0}) conditional(%i, %packed, %packed), branch_computations={%inner, %inner}",
    )
    assert branches != PROGRAM
    assert hlo_cost.main_loop(branches).kernels == hlo_cost.main_loop(PROGRAM).kernels - 2


def test_text_without_a_program_or_a_loop_is_refused():
    with pytest.raises(ValueError, match="no ENTRY computation"):
        hlo_cost.loops("nothing")
    with pytest.raises(ValueError, match="no loop"):
        hlo_cost.main_loop("ENTRY %main (p: f32[1]) -> f32[1] {\n  ROOT %p = f32[1]{0} parameter(0)\n}\n")
