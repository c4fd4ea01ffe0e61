"""CubeNet: an equivariant message-passing network with one feature vector per candidate.

Sudoku is an exact cover: every candidate (digit, row, column) lies in a cell, a row, a column and a region, and exactly
one candidate of each of these groups is true. In every iteration each candidate sends a message, each group sums the
messages of its members and answers by a small perceptron, and each candidate updates its vector by the answers. A
candidate also receives its shares in each group: softmaxes of learned scores over the members.

Weights are shared over digits, over the groups of a kind (cells; lines; regions and extra houses) and over the
iterations. So the policy is exactly equivariant under relabelling and under the board's geometry, the value invariant,
and one set of weights serves every board, of any side and variant, and any number of iterations.

With the setting ``constraints`` there is one more kind of groups: a candidate and those that the board's constraints do
not allow beside it. The network is then equivariant under the symmetries that keep the constraints, and a candidate
that a constraint excludes by itself counts as absent. Otherwise a network does not see constraints.

A candidate that is alone in all of its groups cannot influence others, and is treated as absent. On a CPU only the
other candidates, the open ones, are computed (``packed``). The features of absent candidates are undefined; no message
or output uses them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Annotated, Any, cast

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array, lax
from jax.ad_checkpoint import checkpoint_name

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.operations import cpu_fence, fence
from jaxsudoku.runtime.settings import Config, NonNegative, Range

from .base import ABSENT, Halt, NetworkModule, Outputs
from .conflicts import conflicts_of
from .groups import CELL, LINE, REGION, GroupKind, Groups, cube_shape, families_of
from .layers import MOST_WIDTH, STORED, Dtype, Turns, Width, linear, maximum
from .packed import Family, Packing, maximum_by_index, pack

#: Bound on the scores of shares, so that their exponentials stay finite.
_SCORES = 8.0

#: Maximum number of candidates of the boards evaluated together if only open candidates are computed; at least one
#: board. More are not faster, as a core's cache holds few.
_FEW = 1024


@dataclasses.dataclass(frozen=True)
class CubeConfig(Config):
    """Sizes of a CubeNet.

    Attributes:
      width: features of a candidate.
      hidden: features of a message and of an answer.
      house: hidden features of the groups' perceptron.
      shares: number of learned scores by which candidates compete in their groups; 0 for none.
      maximum: whether groups also take the maximum of the messages.
      constraints: whether there are weights for the conflicts of a board's constraints; their messages are 0 at first.
      bound: maximum root mean square of a candidate's features before an iteration; 0 for none. Without a bound they
        grow with every iteration and change less and less; with one, iterations stay equally effective.
      iterations: number of iterations; may differ from that of training.
      dtype: dtype of the computation, float32 or bfloat16; parameters and the carry are float32.
    """

    width: Width = 48
    hidden: Width = 32
    house: Width = 64
    shares: Annotated[int, Range(0, MOST_WIDTH)] = 4
    maximum: bool = False
    constraints: bool = False
    bound: NonNegative = 0.0
    iterations: Turns = 64
    dtype: Dtype = "float32"


class CubeNet(NetworkModule):
    """The network. Its carry is the features of the candidates, float32[*cube, B, width].

    ``*cube`` stands for five axes: digit, row and column, the latter two cut into boxes if the board has boxes.
    """

    equivariant = True

    def __init__(self, config: CubeConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        self.config, self.board = config, board
        width, hidden = config.width, config.hidden
        inner = functools.partial(linear, dtype=config.dtype, rngs=rngs)
        outer = functools.partial(linear, dtype=jnp.float32, rngs=rngs)
        self.embed = outer(2, width, scale=2.0, use_bias=False)
        self.norm, self.final_norm = RMSNorm(width), RMSNorm(width)
        self.send = inner(width, hidden, scale=2.0, use_bias=False)
        self.inject = inner(2, hidden, use_bias=False)
        self.bias = nnx.Param(jnp.zeros(hidden, jnp.float32))  # of the sum of the two
        self.keep = inner(hidden, hidden)
        if config.shares:
            self.score = inner(width, config.shares, scale=0.5, use_bias=False)
        self.kinds = nnx.List(GroupKind(config, rngs) for _ in (CELL, LINE, REGION))
        self.update = inner(hidden, width, scale=0.2, use_bias=False)
        self.policy = outer(width, 1, use_bias=False)
        self.value_hidden = outer(2 * width, width, scale=2.0)
        self.value = outer(width, 1, use_bias=False)
        if config.constraints:
            self.kinds.append(GroupKind(config, rngs, scale=0.0))

    def __call__(self, candidates: Array) -> Outputs:
        """The outputs after all iterations."""
        carry = self.initialize_carry(candidates)
        return self.readout(candidates, self.iterate(candidates, carry, Halt(self.config.iterations))[0])

    def unroll(self, candidates: Array, carry: Array) -> tuple[Outputs, Array]:
        """The outputs after each iteration, and the carry; gradients store one vector per candidate and iteration."""
        seen = self._seen(candidates)
        features = self.embed(seen)
        features += lax.stop_gradient(carry - features)  # the carry, with the gradient of the embedding
        outputs, features = self._on_platform(self._unroll_all, self._unroll_open, features, seen)
        return self._without_excluded(outputs), features

    def _unroll_all(self, features: Array, seen: Array) -> tuple[Outputs, Array]:
        families = self._families()

        @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.save_only_these_names(STORED))
        def body(features: Array, _: None) -> tuple[Array, Outputs]:  # outputs before the step: it stores one array
            return self._step(features, seen, families), self._outputs(features, seen)

        features, outputs = lax.scan(body, features, None, length=self.config.iterations)
        last = self._outputs(features, seen)
        return jax.tree.map(lambda each, end: jnp.concatenate([each[1:], end[None]]), outputs, last), features

    def _unroll_open(self, features: Array, seen: Array) -> tuple[Outputs, Array]:
        batch, seen = seen.shape[-2], _rows(seen)
        packing = self._pack(seen, batch)

        def make(size: int, families: Sequence[Any]) -> Callable[[Array], tuple[Outputs, Array]]:
            order, groups = packing.order[:size], self._groups(families)

            def unroll(rows: Array) -> tuple[Outputs, Array]:
                def body(leading: Array, _: None) -> tuple[Array, Outputs]:
                    leading = self._step(leading, seen[order], groups)
                    return leading, self._row_outputs(leading, seen[order], order % batch, batch)

                leading, outputs = lax.scan(jax.checkpoint(body), rows[:size], None, length=self.config.iterations)
                policy = jnp.zeros((len(outputs.policy), len(rows)), outputs.policy.dtype)
                policy = policy.at[:, order].set(outputs.policy, unique_indices=True)
                return Outputs(policy, outputs.value), rows.at[:size].set(leading)

            return jax.checkpoint(unroll)

        outputs, rows = packing.switch(make, _rows(features)[packing.order])
        policy = outputs.policy.reshape(-1, self.board.side, self.board.cells, batch).transpose(0, 3, 1, 2)
        return Outputs(policy, outputs.value), rows[packing.place].reshape(features.shape)

    def initialize_carry(self, candidates: Array) -> Array:
        """The features before the first iteration: float32[*cube, B, width]."""
        return self.embed(self._seen(candidates))

    def iterate(self, candidates: Array, carry: Array, halt: Halt) -> tuple[Array, Array]:
        """The features after further iterations, and their number for each board, int32[B]."""
        candidates = self._allowed(candidates)

        def all_candidates(features: Array, seen: Array) -> tuple[Array, Array]:
            step = functools.partial(self._step, seen=seen, families=self._families())

            def sure(features: Array) -> Array:
                return halt.is_sure(self._outputs(features, seen).policy, candidates)

            return _iterated(halt, step, sure, lambda over: over[:, None], features, features.shape[-2])

        def few_boards(rows: Array, seen: Array, batch: int) -> tuple[Array, Array]:
            packing = self._pack(seen, batch)

            def make(size: int, families: Sequence[Any]) -> Callable[[Array], tuple[Array, Array]]:
                order, groups = packing.order[:size], self._groups(families)
                step, lane = functools.partial(self._step, seen=seen[order], families=groups), order % batch

                def sure(rows: Array) -> Array:
                    return self._rows_are_sure(halt, rows, seen[order], families[CELL], lane, batch)

                def iterated(rows: Array) -> tuple[Array, Array]:
                    leading, spent = _iterated(halt, step, sure, lambda over: over[lane][:, None], rows[:size], batch)
                    return rows.at[:size].set(leading), spent

                return iterated

            rows, spent = packing.switch(make, rows[packing.order])
            return rows[packing.place], spent

        def open_candidates(features: Array, seen: Array) -> tuple[Array, Array]:
            """A few boards at a time, whose features stay in the cache; the last are filled up with empty ones."""
            batch = features.shape[-2]
            size = min(batch, max(_FEW // self.board.candidates, 1))
            nothing = jnp.zeros(size, jnp.int32)

            def part(given: tuple[Array, Array]) -> tuple[Array, Array]:
                look = functools.partial(few_boards, batch=size)
                return lax.cond(given[1].any(), look, lambda rows, _: (rows, nothing), *given)

            found, spent = lax.map(part, (_parts(features, size), _parts(seen, size)))
            by_board = found.reshape(len(found), -1, size, found.shape[-1]).swapaxes(0, 1)
            by_board = by_board.reshape(len(by_board), -1, found.shape[-1])[:, :batch]
            return by_board.reshape(features.shape), spent.reshape(-1)[:batch]

        found: tuple[Array, Array]
        found = self._on_platform(all_candidates, open_candidates, carry, self._seen(candidates))
        return found

    def _rows_are_sure(self, halt: Halt, rows: Array, seen: Array, cells: Any, lane: Array, batch: int) -> Array:
        """``Halt.is_sure`` for the policy of rows [N, width] of the boards ``lane`` [N]: bool[B]."""
        is_open, several = seen[:, 0] > 0, seen[:, 0] > seen[:, 1]  # several: one of the candidates of its cell
        logits = jnp.where(is_open, self.policy(self.final_norm(rows))[:, 0], -jnp.inf)
        most = jnp.full(cells.size, -jnp.inf).at[cells.groups[0]].max(logits, mode="drop")
        share = jnp.where(is_open, jnp.exp(logits - cells.spread(most[:, None])[:, 0]), 0.0)
        total = cells.spread(cells.sum(share[:, None]))[:, 0]

        def any_of(flags: Array) -> Array:
            return jnp.zeros(batch, bool).at[lane].max(flags)

        return any_of(several & (share >= halt.sure * total)) | ~any_of(several)

    def _on_platform(self, everywhere: Callable[..., Any], on_cpu: Callable[..., Any], *operands: Array) -> Any:
        """Computes open candidates only (``on_cpu``) on a CPU unless groups take maxima, else all (``everywhere``)."""
        if self.config.maximum:
            return everywhere(*operands)
        return lax.platform_dependent(*operands, cpu=on_cpu, default=everywhere)

    def _pack(self, seen: Array, batch: int) -> Packing:
        """The packing of the rows [N, 2] of the boards of a batch."""
        is_open = seen[:, 0].reshape(self.board.side, self.board.cells, batch) > 0
        return pack(self.board, is_open, self._sees_constraints)

    def _groups(self, families: Sequence[Any]) -> list[tuple[int, Groups]]:
        """The families of rows, each with its kind."""
        kinds = [kind for kind, _ in self._families()]
        return [
            (kind, Groups(family.sum, _no_maximum, family.spread)) for kind, family in zip(kinds, families, strict=True)
        ]

    def readout(self, candidates: Array, carry: Array) -> Outputs:
        """The outputs for these features."""
        return self._without_excluded(self._outputs(carry, self._seen(candidates)))

    @property
    def _sees_constraints(self) -> bool:
        return self.config.constraints and bool(self.board.constraints)

    def _families(self) -> list[tuple[int, Groups]]:
        return families_of(self.board, self._sees_constraints)

    def _allowed(self, candidates: Array) -> Array:
        """The candidates that no constraint excludes by itself."""
        return candidates & ~jnp.asarray(conflicts_of(self.board).excluded) if self._sees_constraints else candidates

    def _without_excluded(self, outputs: Outputs) -> Outputs:
        """Outputs with the logit ``ABSENT`` for candidates that a constraint excludes by itself."""
        if not self._sees_constraints:
            return outputs
        return outputs._replace(policy=jnp.where(conflicts_of(self.board).excluded, ABSENT, outputs.policy))

    def _seen(self, candidates: Array) -> Array:
        """Two bits per candidate: whether it is open, and whether it is the only one of its cell; float32[*cube, B, 2].

        A candidate is open if one of its groups has another candidate. Others have no influence and count as absent.
        """
        present = (
            self._allowed(candidates).transpose(1, 2, 0).astype(jnp.float32).reshape(*cube_shape(self.board), -1, 1)
        )
        others = [groups.spread(groups.sum(present) - 1) for _, groups in self._families()]
        is_open = jnp.where(functools.reduce(jnp.add, others) > 0, present, 0)
        single = jnp.where(present.sum(axis=0) == 1, is_open, 0)
        return jnp.concatenate([is_open, single], axis=-1)

    def _step(self, features: Array, seen: Array, families: Sequence[tuple[int, Groups]]) -> Array:
        """The features after one more iteration, of the whole cube or of packed rows, with groups ``families``."""
        dtype = jnp.dtype(self.config.dtype)
        kinds = [(self.kinds[number], groups) for number, groups in families]
        present, single = (seen[..., number, None].astype(dtype) for number in (0, 1))
        inverse = _inverse_rms(features)
        normed = cpu_fence((features * inverse).astype(dtype))
        scale = self.norm.scale[...][:, None]
        sent = product(normed, scale * self.send.kernel[...])
        of_open, of_single = self.inject.kernel[...]
        message = sent + (of_open + self.bias[...]).astype(dtype) + single * of_single.astype(dtype)
        message = fence(jax.nn.relu(message) * present)
        parts, kernels = [message], [self.keep.kernel[...]]
        if self.config.shares:
            score = jnp.clip(product(normed, scale * self.score.kernel[...]), -_SCORES, _SCORES)
            score = fence(jnp.exp(score) * present)
            parts += [kind.shares(groups, score) for kind, groups in kinds]
            kernels += [kind.from_shares.kernel[...] for kind, _ in kinds]
        received = product(fence(jnp.concatenate(parts, axis=-1)), jnp.concatenate(kernels))
        received += cast(nnx.Param[Array], self.keep.bias)[...].astype(dtype)
        for kind, groups in kinds:
            received += kind.answers(groups, message)
        change = product(fence(jax.nn.relu(received)), self.update.kernel[...])
        if self.config.bound:
            features = features * jnp.minimum(1, self.config.bound * inverse)
        return features + change.astype(jnp.float32)

    def _outputs(self, features: Array, seen: Array) -> Outputs:
        """The policy and the value; written so that accelerators store nothing as large as the features."""
        is_open = seen[..., :1]
        inverse, scale = _inverse_rms(features) * is_open, self.final_norm.scale[...]
        policy = (features * (scale * self.policy.kernel[:, 0])).sum(axis=-1, keepdims=True) * inverse
        policy = policy.reshape(self.board.side, self.board.cells, -1)  # [side, cells, B]
        cube = tuple(range(features.ndim - 2))
        mean = scale * (features * inverse).sum(cube) / jnp.maximum(is_open.sum(cube), 1)  # [B, width]
        return Outputs(policy.transpose(2, 0, 1), self._value(mean, maximum(features * inverse * scale, cube)))

    def _row_outputs(self, rows: Array, seen: Array, lane: Array, batch: int) -> Outputs:
        """The policy [N] of rows [N, width] of the boards ``lane`` [N], and the value [B], as from ``_outputs``."""
        is_open = seen[:, :1]
        normed = self.final_norm(rows) * is_open
        boards = Family(batch, lane[None])
        count = boards.sum(is_open)
        least = jnp.where(count < self.board.candidates, 0.0, -jnp.inf)  # other candidates have features of 0
        value = self._value(boards.sum(normed) / jnp.maximum(count, 1), maximum_by_index(normed, lane, least))
        return Outputs(self.policy(normed)[:, 0], value)

    def _value(self, mean: Array, most: Array) -> Array:
        """The value [B] of the mean and the maximum of the open candidates' features, [B, width]."""
        pooled = checkpoint_name(jnp.concatenate([mean, most], axis=-1), STORED)
        value: Array = self.value(jax.nn.relu(self.value_hidden(pooled)))[:, 0]
        return value


@jax.custom_vjp
def product(x: Array, kernel: Array) -> Array:
    """Features [..., n] times a kernel float32[n, m], in the dtype of the features.

    The kernel's gradient is computed for each candidate of all boards, and then summed: for all candidates at once XLA
    would first copy their features, to pad them.
    """
    return x @ kernel.astype(x.dtype)


def _product_forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return product(x, kernel), (x, kernel)


def _product_backward(saved: tuple[Array, Array], change: Array) -> tuple[Array, Array]:
    x, kernel = saved
    parts = jnp.einsum("...bn,...bm->...nm", x, change, preferred_element_type=jnp.float32)
    return change @ kernel.astype(x.dtype).T, parts.sum(axis=tuple(range(x.ndim - 2)))


product.defvjp(_product_forward, _product_backward)


def _iterated(
    halt: Halt,
    step: Callable[[Array], Array],
    sure: Callable[[Array], Array],
    by_board: Callable[[Array], Array],
    features: Array,
    batch: int,
) -> tuple[Array, Array]:
    """The features after further iterations, and their number for each of B boards, int32[B].

    Args:
      halt: when to end.
      step: an iteration.
      sure: features to bool[B], which boards need no more.
      by_board: bool[B] to the shape of the features.
      features: the features.
      batch: B.
    """
    if halt.sure > 1:
        return lax.fori_loop(0, halt.most, lambda _, x: step(x), features), jnp.full(batch, halt.most, jnp.int32)

    def further(now: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        features, spent, over = now
        number = jnp.minimum(halt.every, halt.most - spent.max())
        after = lax.fori_loop(0, number, lambda _, x: step(x), features)
        spent += jnp.where(over, 0, number)
        after = jnp.where(by_board(over), features, after)  # a board's outputs do not depend on the others
        return after, spent, over | sure(after) | (spent >= halt.most)

    start = (features, jnp.zeros(batch, jnp.int32), jnp.zeros(batch, bool))
    features, spent, _ = lax.while_loop(lambda now: ~now[2].all(), further, start)
    return features, spent


class RMSNorm(nnx.Module):
    """RMS normalisation with learned scales. An iteration multiplies them into the kernels that follow instead."""

    def __init__(self, width: int) -> None:
        self.scale = nnx.Param(jnp.ones(width, jnp.float32))

    def __call__(self, x: Array) -> Array:
        return x * _inverse_rms(x) * self.scale[...]


def _inverse_rms(x: Array) -> Array:
    return checkpoint_name(lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6), STORED)


def _rows(x: Array) -> Array:
    """Features [*cube, B, n] as rows [N, n]."""
    return x.reshape(-1, x.shape[-1])


def _parts(x: Array, size: int) -> Array:
    """The rows of ``size`` boards at a time, [parts, N * size, n], of features [*cube, B, n].

    The last part is filled up with zeros. A loop over parts with the many axes of a cube would take long.
    """
    rows = x.reshape(-1, *x.shape[-2:])  # [N, B, n]
    rows = jnp.pad(rows, ((0, 0), (0, -rows.shape[1] % size), (0, 0)))
    parts = rows.reshape(len(rows), -1, size, rows.shape[-1]).swapaxes(0, 1)
    return parts.reshape(len(parts), -1, rows.shape[-1])


# ``_on_platform`` computes all candidates where groups take maxima
def _no_maximum(x: Array) -> Array:
    raise NotImplementedError("maxima of groups by index")
