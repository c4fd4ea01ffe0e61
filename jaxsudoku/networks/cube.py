"""CubeNet: one feature vector a candidate, with the symmetries of the game built in.

Each iteration mixes a candidate's vector with what the houses pool of their members: its cell (all digits), its row, its
column (the digit's places), its region, and any further house. Weights are shared over digits, over the houses of a kind,
and over iterations, so the policy is exactly equivariant under relabelling and under the board's geometry, and one set of
weights serves every board and any number of iterations.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array, lax

from jaxsudoku.board import Board

from .base import NetworkModule, Outputs


@dataclasses.dataclass(frozen=True)
class CubeConfig:
    width: int = 32
    hidden: int = 32
    pooling: str = "sum-max"
    iterations: int = 16
    norm: str = "pre"
    house: int = 0
    heads: int = 4
    gate: bool = False
    dtype: str = "float32"


class CubeNet(NetworkModule):
    def __init__(self, config: CubeConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        self.config, self.board = config, board
        w, h = config.width, config.hidden
        init = nnx.initializers

        def weights(rows: int, columns: int, scale: float = 1.0) -> nnx.Param:
            return nnx.Param(init.variance_scaling(scale, "fan_in", "normal")(rngs.params(), (rows, columns)))

        pooled = h * (len(config.pooling.split("-")))
        self.embed = weights(2, w, 2.0)
        self.inject = weights(2, h, 1.0)
        self.norm = nnx.Param(jnp.ones(w))
        self.to_message = weights(w, h, 2.0)
        self.bias_message = nnx.Param(jnp.zeros(h))
        self.to_self = weights(h, h)
        self.bias_self = nnx.Param(jnp.zeros(h))
        if "att" in config.pooling:
            self.score = weights(w, config.heads, 0.5)
        mid = config.house or pooled
        if config.house:
            self.house_in = nnx.Param(init.variance_scaling(2.0, "fan_in", "normal", in_axis=1, out_axis=2, batch_axis=0)(rngs.params(), (3, pooled, mid)))
            self.house_bias = nnx.Param(jnp.zeros((3, mid)))
        self.house_out = nnx.Param(init.variance_scaling(0.5, "fan_in", "normal", in_axis=1, out_axis=2, batch_axis=0)(rngs.params(), (3, mid, h)))
        self.to_update = weights(h, w, 0.2)
        if config.gate:
            self.to_gate = weights(h, w, 0.2)
            self.bias_gate = nnx.Param(jnp.zeros(w))
        self.norm_out = nnx.Param(jnp.ones(w))
        self.policy = weights(w, 1)
        self.value_in = weights(2 * w, w, 2.0)
        self.value_bias = nnx.Param(jnp.zeros(w))
        self.value_out = weights(w, 1)

    def _families(self):
        return ((0,), (3, 4), (1, 2), (2, 4)), (0, 1, 1, 2)

    def _start(self, c: Array):
        b, n = self.board, self.board.side
        hgt, wid = b.box
        x = c.transpose(1, 2, 0)  # side, cells, B
        sole = x & (x.sum(0) == 1)
        x = jnp.stack([x, sole], -1).astype(jnp.float32).reshape(n, n // hgt, hgt, n // wid, wid, -1, 2)
        return x

    def _step(self, h: Array, x: Array) -> Array:
        cfg = self.config
        m = x[..., :1]
        n = _rms(h) * self.norm[...] if cfg.norm == "pre" else h
        n = F(n, 16)
        u = jax.nn.relu(n @ self.to_message[...] + self.bias_message[...] + x @ self.inject[...]) * m
        u = F(u, 1)
        z = u @ self.to_self[...] + self.bias_self[...]
        if "att" in cfg.pooling:
            s = jnp.exp(jnp.clip(n @ self.score[...], -8, 8)) * m
            k = cfg.heads
            uh = (u.reshape(*u.shape[:-1], k, -1) * s[..., None]).reshape(u.shape)
        axes, kinds = self._families()
        for ax, t in zip(axes, kinds):
            parts = []
            if "sum" in cfg.pooling:
                parts.append(u.sum(ax, keepdims=True) * 0.33)
            if "max" in cfg.pooling:
                parts.append(u.max(ax, keepdims=True))
            if "att" in cfg.pooling:
                den = s.sum(ax, keepdims=True) + 1e-3
                num = uh.sum(ax, keepdims=True)
                parts.append((num.reshape(*num.shape[:-1], k, -1) / den[..., None]).reshape(num.shape))
            parts = F(parts, 2)
            q = jnp.concatenate(parts, -1) if len(parts) > 1 else parts[0]
            if cfg.house:
                q = jax.nn.relu(q @ self.house_in[...][t] + self.house_bias[...][t])
            z = z + F(q @ self.house_out[...][t], 4)
        z = F(jax.nn.relu(z), 8)
        d = z @ self.to_update[...]
        if cfg.gate:
            d = d * jax.nn.sigmoid(z @ self.to_gate[...] + self.bias_gate[...])
        h = F(h + d, 32)
        return h if cfg.norm == "pre" else _rms(h) * self.norm[...]

    def _head(self, h: Array, x: Array) -> Outputs:
        n = (_rms(h) * self.norm_out[...]) * x[..., :1]
        p = (n @ self.policy[...])[..., 0]
        p = p.reshape(self.board.side, self.board.cells, -1).transpose(2, 0, 1)
        axes = (0, 1, 2, 3, 4)
        v = jnp.concatenate([n.sum(axes) / x[..., :1].sum(axes), n.max(axes)], -1)
        v = jax.nn.relu(v @ self.value_in[...] + self.value_bias[...]) @ self.value_out[...]
        return Outputs(p, v[:, 0])

    def __call__(self, candidates: Array) -> Outputs:
        x = self._start(candidates)
        h = x @ self.embed[...]
        h, _ = lax.scan(lambda h, _: (self._step(h, x), None), h, length=self.config.iterations)
        return self._head(h, x)

    def trace(self, candidates: Array) -> Outputs:
        x = self._start(candidates)
        h = x @ self.embed[...]
        step = jax.checkpoint(self._step)

        def body(h: Array, _: None):
            h = step(h, x)
            return h, self._head(h, x)

        return lax.scan(body, h, length=self.config.iterations)[1]


import os
from jaxsudoku.planes import fence
FENCES = int(os.environ.get("FENCES", "63"))
def F(x, bit): return fence(x) if FENCES & bit else x


def _rms(x: Array) -> Array:
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)
