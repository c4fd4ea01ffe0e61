"""What settles the nodes of the exact search: the choice for a board and a device."""

from __future__ import annotations

import functools
import types

import jax
import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku import exact
from jaxsudoku.exact import ExactConfig
from jaxsudoku.runtime import devices

pytestmark = pytest.mark.quick

EMPTY = np.zeros((1, 16), np.uint8)


def gpu(capability: str | None) -> types.SimpleNamespace:
    return types.SimpleNamespace(platform="gpu", compute_capability=capability)


@pytest.mark.parametrize(
    ("capability", "kind"), [("9.0", "gpu"), ("10.0", "gpu"), ("8.0", "other gpu"), ("gfx90a", "other gpu")]
)
def test_kinds_of_gpus(capability, kind):
    assert devices.kind(gpu(capability)) == kind


@pytest.mark.parametrize(
    ("board", "platform", "options", "settle"),
    [
        (js.Board.classic(9), "gpu", {}, "bands"),
        (js.Board.classic(6, (3, 2)), "gpu", {}, "bands"),
        (js.Board.classic(8), "gpu", {}, "bands"),
        (js.Board.classic(9), "other gpu", {}, "xla"),
        (js.Board.classic(9), "cpu", {}, "xla"),
        (js.Board.classic(9), "tpu", {}, "xla"),
        (js.Board.classic(9), "gpu", {"rules": "singles"}, "xla"),
        (js.Board.classic(12), "gpu", {"restart": "never"}, "xla"),
        (js.Board.classic(16), "gpu", {}, "xla"),
        (js.Board.diagonal(9), "gpu", {}, "xla"),
        (js.Board.named("1x5"), "gpu", {}, "xla"),
    ],
    ids=str,
)
def test_what_is_chosen(board, platform, options, settle):
    assert ExactConfig(**options).resolve(board, platform).settle == settle


@pytest.mark.parametrize(
    ("board", "platform", "options", "message"),
    [
        (js.Board.classic(16), "cpu", {"settle": "pallas"}, 'leave out settle, or set restart to "never"'),
        (js.Board.classic(9), "cpu", {"settle": "bands", "restart": 10}, 'leave out settle, or set restart to "never"'),
        (js.Board.classic(9), "cpu", {"settle": "bands", "rules": "singles"}, 'needs rules "locked" and a board'),
        (js.Board.diagonal(9), "gpu", {"settle": "bands"}, "without further houses, not 9x9 with"),
        (js.Board.classic(9), "other gpu", {"settle": "bands"}, r"9.0 \(H100\) or later, not another device"),
        (js.Board.classic(9), "gpu", {"settle": "pallas"}, 'a GPU has "bands"'),
        (js.Board.classic(25), "tpu", {"settle": "pallas", "restart": "never"}, 'use settle "xla"'),
    ],
    ids=str,
)
def test_what_is_refused(board, platform, options, message):
    with pytest.raises(ValueError, match=message):
        ExactConfig(**options).resolve(board, platform)


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_planes_that_fit_a_chip(platform):
    config = ExactConfig(settle="pallas", restart="never")
    assert config.resolve(js.Board.classic(16), platform).settle == "pallas"


def test_a_search_on_an_older_gpu(monkeypatch):
    monkeypatch.setattr(jax, "local_devices", lambda: [gpu("8.0")])
    with pytest.raises(ValueError, match=r"compute capability 9.0 \(H100\) or later"):
        exact.search(EMPTY, settle="bands")


def test_a_branch_chooses_on_planes():
    with pytest.raises(ValueError, match='leave out branch or settle "bands"'):
        exact.search(EMPTY, branch=lambda board, planes, lanes: planes, settle="bands")


@pytest.mark.parametrize("compiles", [False, True])
def test_what_is_compiled_for_a_gpu_that_is_not_there(monkeypatch, compiles):
    """A process that can compile for GPUs lowers for them with their settings, and for its CPU as ever."""
    monkeypatch.setattr(devices, "compiles_for_gpus", lambda: compiles)
    traced = jax.jit(functools.partial(exact.search, board=js.Board.classic(4))).trace(EMPTY)
    assert ("mosaic_gpu" in traced.lower(lowering_platforms=("cuda",)).as_text()) == compiles
    assert "mosaic_gpu" not in traced.lower(lowering_platforms=("cpu",)).as_text()
