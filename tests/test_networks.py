"""Networks: every architecture of the registry through one set of checks, and files that are what their cards say."""

import dataclasses
import functools
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import safetensors.numpy
from flax import nnx
from reference import TINY

import jaxsudoku as js
from jaxsudoku import networks
from jaxsudoku.files import with_checksum
from jaxsudoku.networks import (
    ABSENT,
    NETWORKS,
    NetworkFileError,
    attention,
    axial,
    house_cnn,
    house_resnet,
    layers,
    weights,
)
from jaxsudoku.networks.convolution import as_convolution, convolve

FOUR, NINE, SIXTEEN = js.Board.classic(4), js.Board.classic(9), js.Board.classic(16)
JIGSAW = js.Board.jigsaw("aaab ccab ccdb dddb")

#: Parameters at the default sizes on 9x9.
COUNTS = {
    "axial": 5_416_906,
    "cellwise": 5_416_906,
    "se_resnet": 3_587_978,
    "house_cnn": 945_674,
    "house_resnet": 503_754,
    "cell_cnn": 7_626_266,
}

every_network = pytest.mark.parametrize("name", NETWORKS)


def quick_key(seed=0):
    """A key whose generator compiles at once, which the usual one does not on a CPU."""
    return jax.random.key(seed, impl="unsafe_rbg")


@functools.cache
def tiny(name, board=FOUR, seed=0, **sizes):
    return networks.make_network(name, board, quick_key(seed), **TINY[name] | sizes)


@functools.cache
def compiled(function):
    """The function compiled, once for all tests that call it with arrays of the same shapes."""
    return jax.jit(function, compiler_options=js.compiler_options())


def candidates(board, batch, seed=0):
    """Positions of a solved grid with some cells filled, and of the others any candidates beside the right ones.

    Returns:
      Candidates bool[B, side, cells], and digits int[B, cells] of 0..side-1.
    """
    random = np.random.default_rng(seed)
    band, line = np.divmod(np.arange(board.side), board.box[0])
    grid = (line * board.box[1] + band)[:, None] + np.arange(board.side)
    relabel = random.permuted(np.tile(np.arange(board.side), (batch, 1)), axis=1)
    digits = relabel[:, grid.ravel() % board.side]
    right = digits[:, None] == np.arange(board.side)[:, None]
    filled = random.random((batch, 1, board.cells)) < 0.4
    return right | (~filled & (random.random(right.shape) < 0.6)), digits


def sizes_of(params):
    return sum(leaf.size for leaf in jax.tree.leaves(params))


# ---------------------------------------------------------------------- what a network answers


def test_every_architecture_is_tested():
    assert set(TINY) == set(NETWORKS)


@every_network
@pytest.mark.parametrize("board", [FOUR, NINE, SIXTEEN], ids=str)
def test_outputs_are_what_they_should_be(name, board):
    network = tiny(name, board)
    seen, _ = candidates(board, 4)
    outputs = compiled(network.apply)(network.params, seen)
    assert outputs.policy.shape == (4, board.side, board.cells) and outputs.policy.dtype == jnp.float32
    assert outputs.value.shape == (4,) and outputs.value.dtype == jnp.float32
    policy = np.asarray(outputs.policy)
    assert (policy[~seen] == ABSENT).all()
    # small at first, yet not the same for all candidates
    assert np.abs(policy[seen]).max() < 4 and policy[seen].std() > 1e-4
    assert np.abs(outputs.value).max() < 4


@every_network
def test_the_last_unrolled_output_is_the_answer(name):
    network = tiny(name)
    seen, _ = candidates(FOUR, 4)
    unrolled, _ = compiled(network.apply.unroll)(network.params, seen)
    outputs = compiled(network.apply)(network.params, seen)
    assert unrolled.policy.shape[1:] == outputs.policy.shape and unrolled.value.shape[1:] == outputs.value.shape
    np.testing.assert_allclose(unrolled.policy[-1], outputs.policy, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(unrolled.value[-1], outputs.value, rtol=1e-4, atol=1e-5)
    assert (np.asarray(unrolled.policy)[:, ~seen] == ABSENT).all()


@every_network
def test_a_batch_is_its_positions_one_by_one(name):
    network = tiny(name)
    seen, _ = candidates(FOUR, 4)
    together = compiled(network.apply)(network.params, seen)
    for place in range(4):
        alone = compiled(network.apply)(network.params, seen[place : place + 1])
        np.testing.assert_allclose(together.policy[place], alone.policy[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(together.value[place], alone.value[0], rtol=1e-4, atol=1e-5)


def _loss(params, apply, seen, digits):
    """Cross-entropy of the right digits, and of the value of positions that all have a solution."""
    outputs = apply(params, seen)
    digit = optax.softmax_cross_entropy_with_integer_labels(outputs.policy.swapaxes(1, 2), digits).mean()
    return digit + optax.sigmoid_binary_cross_entropy(outputs.value, jnp.ones_like(outputs.value)).mean()


#: Kernels, whether the image continues on its other side, and the image's side.
KERNELS = [
    ((3, 3), False, 9),
    ((3, 3), False, 4),
    ((3, 3), True, 8),
    ((4, 2), False, 5),
    ((9, 1), True, 9),
    ((1, 9), True, 9),
    ((9, 9), True, 9),
    ((2, 3), True, 6),
]


@pytest.mark.parametrize(("shape", "wraps", "side"), KERNELS)
def test_a_convolution_is_that_of_flax(shape, wraps, side):
    """On a CPU products of matrices, of 3x3 tiles too; all forms and their gradients are those of ``nnx.Conv``."""
    image, weight = (jax.random.normal(jax.random.key(seed), (32, side, side, size)) for seed, size in ((0, 5), (1, 7)))
    theirs = nnx.Conv(5, 7, shape, padding="CIRCULAR" if wraps else "SAME", use_bias=False, rngs=nnx.Rngs(0))
    structure, state = nnx.split(theirs)
    kernel = theirs.kernel[...]

    def expected(image, kernel):
        return nnx.merge(structure, jax.tree.map(lambda _: kernel, state))(image)

    frame = tuple(((size - 1) // 2, size // 2) for size in shape)

    def of_accelerators(image, kernel):
        if wraps:
            image = jnp.pad(image, [(0, 0), *frame, (0, 0)], mode="wrap")
        return as_convolution(image, kernel, ((0, 0), (0, 0)) if wraps else frame)

    def results(function):
        def total(image, kernel):
            return (function(image, kernel) * weight).sum()

        return function(image, kernel), *jax.grad(total, argnums=(0, 1))(image, kernel)

    for form in (lambda image, kernel: convolve(image, kernel, wraps), of_accelerators):
        for ours, right in zip(results(form), results(expected), strict=True):
            np.testing.assert_allclose(ours, right, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@every_network
def test_training_lowers_the_loss(name):
    network = tiny(name)
    seen, digits = candidates(FOUR, 8)
    optimiser = optax.adam(1e-2)

    def step(carry, _):
        params, state = carry
        loss, gradient = jax.value_and_grad(_loss)(params, network.apply, seen, digits)
        updates, state = optimiser.update(gradient, state)
        return (optax.apply_updates(params, updates), state), loss

    def train(params):
        return jax.lax.scan(step, (params, optimiser.init(params)), length=20)

    (params, _), losses = compiled(train)(network.params)
    assert losses[-1] < 0.8 * losses[0]
    # every parameter is of use: training reached it
    moved = jax.tree.map(lambda old, new: bool((old != new).any()), network.params, params)
    assert all(jax.tree.leaves(moved)), moved


@pytest.mark.parametrize(("axes", "keepdims"), [((1,), False), ((1, 2), True), ((3, 1), False), ((0,), True)])
def test_the_gradient_of_a_maximum(axes, keepdims):
    """It is that of JAX where no two elements are equal; else the first of them gets all of it."""
    x, weight = jax.random.normal(jax.random.key(0), (3, 4, 5, 6)), jax.random.normal(jax.random.key(1), (3, 4, 5, 6))

    def gradient(maximum, x):
        return compiled(jax.grad(lambda x: (maximum(x) * weight.max(axes, keepdims=keepdims)).sum()))(x)

    def ours(x):
        return layers.maximum(x, axes, keepdims)

    def expected(x):
        return x.max(axes, keepdims=keepdims)

    np.testing.assert_array_equal(compiled(ours)(x), expected(x))
    np.testing.assert_allclose(gradient(ours, x), gradient(expected, x), rtol=1e-6)
    even = np.asarray(gradient(ours, jnp.zeros_like(x)))
    assert (even != 0).sum() == weight.max(axes).size
    assert (even[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(4))] != 0).all()


@every_network
def test_bfloat16_is_close_to_float32(name):
    network = tiny(name)
    half = tiny(name, dtype="bfloat16")
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(half.params))
    seen, _ = candidates(FOUR, 4)
    whole = compiled(network.apply)(network.params, seen)
    rough = compiled(half.apply)(network.params, seen)
    difference = np.abs(np.asarray(whole.policy - rough.policy)[seen])
    spread = np.asarray(whole.policy)[seen].std()
    assert difference.mean() < 0.05 * spread + 1e-3
    assert difference.max() > 0
    np.testing.assert_allclose(rough.value, whole.value, atol=0.05)


# ---------------------------------------------------------------------- sizes, boards, pure functions


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_at_default_sizes(name):
    assert sizes_of(networks.make_forward(name).shapes()) == COUNTS[name]


def test_counts_are_those_that_the_architectures_are_known_by():
    millions = {name: count / 1e6 for name, count in COUNTS.items()}
    assert 0.9 <= millions["house_cnn"] <= 1.1
    assert 3.3 <= millions["se_resnet"] <= 3.9
    assert 5.1 <= millions["axial"] <= 5.7


@every_network
def test_parameters_are_float32_and_follow_from_the_key(name):
    forward = networks.make_forward(name, FOUR, **TINY[name])
    shapes, params = forward.shapes(), forward.init(quick_key(3))
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), shapes) == jax.tree.map(
        lambda leaf: (leaf.shape, leaf.dtype), params
    )
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(shapes))
    same, other = forward.init(quick_key(3)), forward.init(quick_key(4))
    assert all(map(np.array_equal, jax.tree.leaves(params), jax.tree.leaves(same)))
    assert not all(map(np.array_equal, jax.tree.leaves(params), jax.tree.leaves(other)))


@every_network
def test_the_pure_function_hashes_by_value_and_is_traced_once(name):
    traced = []

    @jax.jit
    def size(network, seen):
        traced.append(network.apply)
        return network.apply(network.params, seen).value

    seen, _ = candidates(FOUR, 2)
    first, second = tiny(name), tiny(name, seed=1)
    assert first.apply == second.apply and hash(first.apply) == hash(second.apply)
    assert first.apply != tiny(name, NINE).apply
    size(first, seen)
    size(second, seen)
    assert len(traced) == 1


@pytest.mark.parametrize("name", ["axial", "se_resnet", "cell_cnn"])
def test_irregular_regions(name):
    network = tiny(name, JIGSAW)
    seen, _ = candidates(FOUR, 2)
    assert np.isfinite(network(jnp.asarray(seen)).value).all()


@pytest.mark.parametrize("name", ["house_cnn", "house_resnet"])
def test_kernels_of_boxes_refuse_irregular_regions(name):
    with pytest.raises(ValueError, match=f"{name} needs equal boxes, which a board of 4x4 with irregular regions"):
        tiny(name, JIGSAW)


@pytest.mark.parametrize("board", [js.Board.classic(6), JIGSAW], ids=str)
def test_axial_attends_within_houses_alone(board):
    orders = attention.house_orders(board)
    assert [tuple(house) for house in orders.reshape(-1, board.side)] == list(board.houses)
    layer = attention.Layer(axial.AxialConfig(**TINY["axial"]), 3, nnx.Rngs(quick_key()))
    x = jax.random.normal(quick_key(), (1, board.side, board.side, 8))
    changed = np.asarray(layer(x) != layer(x.at[0, 1, 2].add(1.0)))[0].any(axis=-1)
    assert changed[1].all() and not np.delete(changed, 1, axis=0).any()


def test_axial_carries_each_cell_through_all_orders():
    """With layers that add nothing, the policy of a cell depends on that cell alone."""
    network = tiny("axial")
    idle = {
        number: {
            name: jax.tree.map(jnp.zeros_like, part) if name.startswith("from_") else part
            for name, part in layer.items()
        }
        for number, layer in network.params["layers"].items()
    }
    network = dataclasses.replace(network, params=network.params | {"layers": idle})
    seen, _ = candidates(FOUR, 1)
    other = seen.copy()
    other[0, :, 6] = ~other[0, :, 6]
    both = seen & other
    policies = [np.asarray(network(jnp.asarray(each)).policy) for each in (seen, other)]
    unlike = (policies[0] != policies[1]).any(axis=1)[0]
    assert both.any() and unlike[6] and not np.delete(unlike, 6).any()


@pytest.mark.parametrize("board", [js.Board.classic(6), NINE], ids=str)
def test_house_cnn_looks_along_houses(board):
    """From each kernel a cell sees all cells of its own house, and no other."""
    layer = house_cnn.AlongHouses(house_cnn.HouseCnnConfig(), board.side, board.box, nnx.Rngs(quick_key()))
    row, column = 1, board.side - 2
    image = jnp.zeros((1, board.side, board.side, board.side))
    touched = image.at[0, row, column, 3].set(1.0)
    rows, columns = np.indices((board.side, board.side))
    height, width = board.box
    reach = {
        layer.row: rows == row,
        layer.column: columns == column,
        layer.whole: rows >= 0,
        layer._within_boxes: (rows // height == row // height) & (columns // width == column // width),
    }
    for kernel, house in reach.items():
        np.testing.assert_array_equal(np.asarray(kernel(image) != kernel(touched))[0].any(axis=-1), house)


@pytest.mark.parametrize(
    ("name", "sizes", "cause"),
    [
        ("axial", {"heads": 5}, "width must be a multiple of heads: 192 is none of 5"),
        ("axial", {"rounds": 0}, "rounds must be at least 1, not 0"),
        ("se_resnet", {"width": 64.0}, "width must be a whole number, not 64.0"),
        ("se_resnet", {"reduction": 3}, "width must be a multiple of reduction"),
        ("se_resnet", {"head": 12}, "head must be a multiple of groups"),
        ("house_cnn", {"layers": 2}, "layers must be at least 3"),
        ("house_cnn", {"width": 30}, "width must be a multiple of 4"),
        ("cell_cnn", {"dtype": "float16"}, "unknown dtype 'float16': choose one of float32, bfloat16"),
        ("cell_cnn", {"depth": 3}, "the network cell_cnn has no option depth; it has width, features, hidden, dtype"),
        ("cell", {}, "unknown network 'cell'"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(name, sizes, cause):
    with pytest.raises(ValueError) as refusal:
        networks.make_forward(name, **sizes)
    assert cause in str(refusal.value)


# ---------------------------------------------------------------------- files


@pytest.fixture
def saved(tmp_path):
    """A small network, and the path of its parameters."""
    network = tiny("axial")
    return network, js.save_network(network, tmp_path / "small", seed=5, data={"puzzles": 10})


def alter_card(path, **changes):
    """Changes fields of a card; those that are None are taken out."""
    card = path.with_suffix(".json")
    fields = json.loads(card.read_bytes()) | changes
    del fields["checksum"]
    card.write_bytes(with_checksum({name: value for name, value in fields.items() if value is not None}))


def alter_tensors(path, change):
    """Changes the tensors of a file, and the checksum on its card with them."""
    tensors = safetensors.numpy.load(path.read_bytes())
    change(tensors)
    path.write_bytes(safetensors.numpy.save(tensors))
    alter_card(path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def refusal(path, **asked):
    with pytest.raises(NetworkFileError) as error:
        js.load_network(path, **asked)
    return str(error.value)


@every_network
def test_what_is_loaded_is_what_was_saved(name, tmp_path):
    network = tiny(name)
    path = js.save_network(network, tmp_path / "a.b")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.b.json", "a.b.safetensors"]
    loaded = js.load_network(path)
    assert loaded == network  # name, sizes and board
    assert jax.tree.structure(loaded.params) == jax.tree.structure(network.params)
    for ours, theirs in zip(jax.tree.leaves(loaded.params), jax.tree.leaves(network.params), strict=True):
        assert ours.dtype == theirs.dtype and np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()
    first = path.read_bytes()
    js.save_network(loaded, path)
    assert path.read_bytes() == first


def test_parameters_are_stored_in_half_the_space(tmp_path):
    network = tiny("cell_cnn")
    full, half = (
        networks.save_network(network, tmp_path / stored, stored=stored) for stored in ("float32", "bfloat16")
    )
    assert half.stat().st_size < 0.6 * full.stat().st_size
    loaded = networks.load_network(half)
    for leaf, original in zip(*map(jax.tree.leaves, (loaded.params, network.params)), strict=True):
        assert leaf.dtype == jnp.float32
        np.testing.assert_array_equal(leaf, original.astype(jnp.bfloat16).astype(jnp.float32))
    with pytest.raises(ValueError, match="stored as float32 or bfloat16, not as 'int8'"):
        networks.save_network(network, tmp_path / "int8", stored="int8")


def test_either_file_or_neither_ending_names_a_network(saved):
    network, path = saved
    for named in (path, str(path), path.with_suffix(".json"), path.with_suffix("")):
        assert js.load_network(named) == network


def test_a_card_tells_what_the_network_is(saved):
    network, path = saved
    card = networks.read_card(path)
    assert card.architecture == "axial" and card.config == dataclasses.asdict(network.config)
    assert card.board == FOUR and card.parameters == network.size and card.jaxsudoku == js.__version__
    assert card.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert card.facts == {"seed": 5, "data": {"puzzles": 10}}
    written = json.loads(path.with_suffix(".json").read_text())
    assert written["format"] == weights.FORMAT and written["board"]["name"] == "4x4 with 2x2 boxes"


@pytest.mark.parametrize("board", [JIGSAW, js.Board.diagonal(4)], ids=str)
def test_a_card_keeps_any_board(board, tmp_path):
    path = js.save_network(tiny("cell_cnn", board), tmp_path / "net")
    assert networks.read_card(path).board == board
    assert js.load_network(path).board == board
    assert "for the board" in refusal(path, board=FOUR)


def test_facts_are_json_numbers_of_arrays_included(saved, tmp_path):
    network, _ = saved
    facts = {"loss": np.float32(0.5), "curve": np.arange(3), "solved": jnp.float32(0.25), "names": ("a", "b")}
    card = networks.read_card(js.save_network(network, tmp_path / "facts", **facts))
    assert card.facts == {"loss": 0.5, "curve": [0, 1, 2], "solved": 0.25, "names": ["a", "b"]}
    for wrong in ({"loss": float("nan")}, {"made": {1, 2}}):
        with pytest.raises(ValueError, match="the facts of a card must be JSON"):
            js.save_network(network, tmp_path / "wrong", **wrong)
    assert not list(tmp_path.glob("wrong*")), "a save that is refused leaves files"


def test_parameters_of_another_network_are_not_saved(saved, tmp_path):
    network, _ = saved
    other = tiny("axial", width=4)
    with pytest.raises(ValueError, match="the parameters are none of this axial"):
        js.save_network(dataclasses.replace(network, params=other.params), tmp_path / "net")
    with pytest.raises(ValueError, match="by the name of cell_cnn that is a Axial"):
        js.save_network(dataclasses.replace(network, name="cell_cnn"), tmp_path / "net")


def test_fields_that_training_did_not_fix_may_be_changed(saved, tmp_path):
    _, path = saved
    assert js.load_network(path, dtype="bfloat16").config.dtype == "bfloat16"
    with pytest.raises(ValueError, match="heads of a trained axial can't be changed, only dtype"):
        js.load_network(path, heads=4)
    with pytest.raises(ValueError, match="unknown dtype 'half'"):
        js.load_network(path, dtype="half")


@every_network
def test_adjustable_fields_change_no_parameters(name):
    architecture = NETWORKS[name]
    assert set(architecture.adjustable) <= {field.name for field in dataclasses.fields(architecture.config)}
    others = {"dtype": "bfloat16", "iterations": 5, "repeats": 2}
    usual = networks.make_forward(name, FOUR, **TINY[name])
    changed = {field: others[field] for field in architecture.adjustable}
    assert networks.make_forward(name, FOUR, **TINY[name] | changed).shapes() == usual.shapes()


def test_a_network_for_any_board_takes_another_one(tmp_path):
    path = js.save_network(tiny("cube"), tmp_path / "net")
    assert js.load_network(path, board=NINE, iterations=3).config.iterations == 3
    assert js.load_network(path, board=NINE).board == NINE
    assert js.load_network(path).board == FOUR


def test_another_board_is_refused(saved):
    _, path = saved
    assert js.load_network(path, board=js.Board.classic(4)).board == FOUR
    said = refusal(path, board=NINE)
    assert str(path) in said and "4x4 with 2x2 boxes, not for 9x9 with 3x3 boxes" in said


def test_missing_files_are_refused(saved, tmp_path):
    _, path = saved
    assert "nowhere.safetensors: there is no such file; shipped are" in refusal(tmp_path / "nowhere")
    assert "cubic.safetensors: there is no such file" in refusal("cubic")
    path.with_suffix(".json").unlink()
    assert f"{path}: its card small.json is missing" in refusal(path)


def test_truncated_and_altered_files_are_refused(saved):
    _, path = saved
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[-1] ^= 1
    for data in (whole[:-1], whole[: len(whole) // 2], b"", bytes(flipped), whole + b"\0"):
        path.write_bytes(data)
        assert f"{path}: truncated or altered; its sha256 is" in refusal(path)
    # nor does a checksum that was altered along help
    path.write_bytes(whole[:-1])
    alter_card(path, sha256=hashlib.sha256(whole[:-1]).hexdigest())
    assert f"{path}: no safetensors file" in refusal(path)


@pytest.mark.parametrize("header", [b'{"a":' * 10_000, b"[" * 10_000, b"{}", b"\xff" * 20])
def test_headers_of_tensors_that_make_no_sense_are_refused(saved, header):
    _, path = saved
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    alter_card(path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    assert refusal(path).startswith(f"{path}: no ")


def test_one_flipped_bit_of_a_card_is_never_read(saved):
    """A card of other heads, or other facts, fits the same parameters."""
    _, path = saved
    card = path.with_suffix(".json")
    whole, data = networks.read_card(path), card.read_bytes()
    rng, refused = np.random.default_rng(0), 0
    for position in rng.choice(len(data), 100, replace=False).tolist():
        flipped = bytearray(data)
        flipped[position] ^= 1 << rng.integers(8)
        card.write_bytes(flipped)
        try:
            found = networks.read_card(path)
        except NetworkFileError as error:
            refused += 1
            assert str(error).startswith(str(card))
        else:  # white space
            assert found == whole
    assert refused > 60


def test_cards_of_the_first_format_are_read(saved):
    network, path = saved
    card = path.with_suffix(".json")
    fields = json.loads(card.read_bytes())
    del fields["checksum"]
    card.write_text(json.dumps(fields | {"format": 1}))
    assert js.load_network(path) == network
    card.write_text(json.dumps(fields))
    assert "altered: the checksum is not that of the other fields" in refusal(path)


def test_a_save_that_stopped_half_way_is_refused(saved, monkeypatch):
    """The parameters are new, the card is still the old one."""
    _, path = saved

    def write(file, data):
        if file.suffix == ".json":
            raise KeyboardInterrupt
        file.write_bytes(data)

    monkeypatch.setattr(weights, "write_file", write)
    with pytest.raises(KeyboardInterrupt):
        js.save_network(tiny("axial", seed=8), path)
    assert "truncated or altered" in refusal(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": weights.FORMAT + 1}, "a card of format 3; this version of jaxsudoku reads 2"),
        ({"format": 0}, "malformed: format"),
        ({"format": "1"}, "malformed: format"),
        ({"format": None}, "no card of a network (KeyError: 'format')"),
        ({"architecture": "resnext"}, "unknown network 'resnext'"),
        ({"architecture": None}, "architecture"),
        ({"architecture": "cell_cnn"}, "the config of cell_cnn has dtype, features, hidden, width; amiss: "),
        ({"architecture": 5}, "malformed: architecture"),
        ({"config": {}}, "amiss: dtype, expansion, heads, hidden, rounds, width"),
        ({"config": {**TINY["axial"], "dtype": "float32", "heads": 3}}, "width must be a multiple of heads"),
        ({"config": {**TINY["axial"], "dtype": "float32", "rounds": "1"}}, "rounds must be a whole number, not '1'"),
        ({"config": {**TINY["axial"], "dtype": "float32", "width": 4}}, "such a network has"),
        (
            {"architecture": "cube", "config": {**dataclasses.asdict(NETWORKS["cube"].config()), "maximum": -1}},
            "maximum must be True or False, not -1",
        ),
        ({"config": [1]}, "malformed: config"),
        ({"board": {"name": "4x4", "side": 4, "box": [2, 3]}}, "a box of 2x3 has 6 cells"),
        ({"board": "4x4"}, "no card of a network"),
        ({"board": {"name": "6x6", "side": 6, "box": [2, 3]}}, "such a network has"),
        ({"parameters": 12}, "such a network has 2,077 parameters, not 12"),
        ({"sha256": 12}, "malformed: sha256"),
        ({"more": 1}, "more"),
    ],
)
def test_cards_that_are_malformed_or_tell_of_another_network_are_refused(saved, change, reason):
    _, path = saved
    alter_card(path, **change)
    said = refusal(path)
    assert said.startswith(str(path.with_suffix(".json"))) and reason in said


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "\xff"])
def test_cards_that_are_none_are_refused(saved, text):
    _, path = saved
    path.with_suffix(".json").write_bytes(text.encode("latin-1"))
    assert f"{path.with_suffix('.json')}: no card of a network" in refusal(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda tensors: tensors.pop("embedding.embed.bias"), "embedding.embed.bias is missing"),
        (lambda tensors: tensors.update(more=np.zeros(2)), "more is none of its tensors"),
        (
            lambda tensors: tensors.update({"embedding.embed.bias": np.zeros(9, np.float32)}),
            "embedding.embed.bias is float32[9], not float32[8]",
        ),
        (
            lambda tensors: tensors.update({"embedding.embed.bias": np.zeros(8, np.float64)}),
            "embedding.embed.bias is float64[8], not float32[8]",
        ),
        (lambda tensors: tensors.clear(), "is missing; and"),
    ],
)
def test_tensors_that_are_not_the_architectures_are_refused(saved, change, reason):
    _, path = saved
    alter_tensors(path, change)
    said = refusal(path)
    assert said.startswith(f"{path}: no axial of these sizes: ") and reason in said


def test_shipped_networks_go_by_name(saved, tmp_path, monkeypatch):
    network, _ = saved
    monkeypatch.setattr(weights, "_folder", lambda: tmp_path)
    assert networks.shipped() == ("small",)
    monkeypatch.chdir(tmp_path.parent)
    assert js.load_network("small") == network


@pytest.mark.parametrize("name", networks.shipped())
def test_shipped_networks_load(name):
    assert networks.read_card(name).parameters == js.load_network(name).size


# ---------------------------------------------------------------------- the face


def test_networks_are_reached_from_the_face():
    assert js.make_network is networks.make_network and js.networks is networks
    program = (
        "import jaxsudoku as js; js.networks.NETWORKS; from jax._src.xla_bridge import backends_are_initialized;"
        "print(backends_are_initialized())"
    )
    run = [sys.executable, "-c", program]
    folder = Path(js.__file__).parents[1]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize("board", [js.Board.classic(6), NINE], ids=str)
def test_a_block_of_house_resnet_looks_along_houses(board):
    """A changed cell changes the features of all cells that share a house with it, and of no other."""
    config = house_resnet.HouseResNetConfig(width=8, house=8)
    block = house_resnet.Block(config, board.side, board.box, nnx.Rngs(quick_key()))
    rng = np.random.default_rng(0)
    # the kernels of a trained network differ from cell to cell
    for kernel in (block.line, block.box):
        kernel.kernel[...] = jnp.asarray(rng.normal(size=kernel.kernel.shape), jnp.float32)
    image = jnp.asarray(rng.normal(size=(1, board.side, board.side, config.width)), jnp.float32)
    row, column = 1, board.side - 2
    touched = image.at[0, row, column].add(jnp.asarray(rng.normal(size=config.width), jnp.float32))
    differs = np.asarray(block(image) != block(touched))[0].any(axis=-1)
    cell = row * board.side + column
    expected = np.zeros(board.cells, bool)
    for house in board.houses:
        if cell in house:
            expected[list(house)] = True
    np.testing.assert_array_equal(differs.reshape(-1), expected)


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (2, 3)])
def test_a_kernel_of_house_resnet_is_a_convolution_with_a_stride(shape):
    """One house a window, as a convolution whose stride is the size of its kernel has it."""
    config = house_resnet.HouseResNetConfig(width=4, house=5)
    block = house_resnet.Block(config, 6, shape, nnx.Rngs(quick_key()))
    rng = np.random.default_rng(1)
    block.box.kernel[...] = jnp.asarray(rng.normal(size=(6, 4, 5)), jnp.float32)
    image = jnp.asarray(rng.normal(size=(2, 6, 6, 4)), jnp.float32)
    theirs = jax.lax.conv_general_dilated(
        image,
        block.box.kernel[...].reshape(*shape, 4, 5),
        shape,
        "VALID",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    expected = block.box.back(jax.nn.relu(theirs))
    found = block.box(house_resnet.windows(image, shape))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_repeats_of_house_resnet_share_their_weights():
    """Applied twice, the blocks are those of a network of twice as many with the same weights."""
    seen = jnp.asarray(candidates(FOUR, 2)[0])
    once, twice = tiny("house_resnet"), tiny("house_resnet", repeats=2)
    assert sizes_of(once.params) == sizes_of(twice.params)
    jax.tree.map(np.testing.assert_array_equal, once.params, twice.params)
    long = tiny("house_resnet", blocks=2 * TINY["house_resnet"]["blocks"])
    blocks = once.params["blocks"]
    params = {**once.params, "blocks": dict(enumerate([*blocks.values(), *blocks.values()]))}
    expected, found = long.apply(params, seen), twice.apply(once.params, seen)
    np.testing.assert_allclose(found.policy, expected.policy, atol=1e-5)
    assert (np.abs(np.asarray(found.policy - once.apply(once.params, seen).policy)) > 1e-4).any()
