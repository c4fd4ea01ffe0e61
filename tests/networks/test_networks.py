"""Networks: every architecture of the registry through one set of checks, and files that are what their cards say."""

import dataclasses
import functools
import hashlib
import json

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
from jaxsudoku.networks.cell_cnn import as_numbers
from jaxsudoku.networks.convolution import as_convolution, convolve
from jaxsudoku.runtime.files import with_checksum
from jaxsudoku.runtime.settings import Config
from jaxsudoku.testing.network import check_outputs, positions

FOUR, SIX, NINE, SIXTEEN = (js.Board.classic(side) for side in (4, 6, 9, 16))
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


@functools.cache
def tiny(name):
    """A network for 4x4 as it is before training. Its parameters are drawn one by one: as one program it takes long."""
    forward = networks.make_forward(name, FOUR, **TINY[name])
    key = jax.random.wrap_key_data(np.array([0, 1, 2, 3], np.uint32), impl="unsafe_rbg")  # which compiles at once
    return networks.Network(name, forward, jax.tree.map(np.asarray, forward.init(key)))


def drawn(shapes, seed=0):
    """Parameters of these shapes, drawn without a program."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: rng.normal(0, 0.4, leaf.shape).astype(np.float32), shapes)


@functools.cache
def made(name, board=FOUR, **sizes):
    """A network of any board and sizes with such parameters."""
    forward = networks.make_forward(name, board, **TINY[name] | sizes)
    return networks.Network(name, forward, drawn(forward.shapes()))


def layer(make):
    """A layer of a network with such parameters."""
    structure, state = nnx.split(nnx.eval_shape(lambda: make(nnx.Rngs(jax.random.key(0)))))
    return nnx.merge(structure, drawn(state))


def sizes_of(params):
    return sum(leaf.size for leaf in jax.tree.leaves(params))


# ---------------------------------------------------------------------- what a network answers


def test_every_architecture_is_tested():
    assert set(TINY) == set(NETWORKS)


@every_network
def test_every_architecture_keeps_its_promises(name):
    js.testing.check_network(name, NETWORKS[name].config(**TINY[name]))


@dataclasses.dataclass(frozen=True)
class OwnConfig(Config):
    """Settings of a network of a user."""

    mixes: bool = False


class OwnNetwork(networks.NetworkModule):
    """A weight for each candidate; the policy may depend on the other positions of the batch."""

    def __init__(self, config, board, *, rngs):
        self.weight = nnx.Param(nnx.initializers.lecun_normal()(rngs.params(), (board.side, 8)))
        self.mixes = config.mixes

    def __call__(self, candidates):
        policy = candidates * jnp.concatenate([self.weight[...]] * 2, axis=1)
        policy -= policy.mean(axis=0) * self.mixes
        return networks.Outputs(policy, policy.sum(axis=(1, 2)))


def test_a_network_that_mixes_its_batch_is_found():
    with pytest.raises(AssertionError, match=r"policy of position 0 depends on the other .*\n  candidates: [01 ]+$"):
        js.testing.check_network(OwnNetwork, OwnConfig(mixes=True))
    with pytest.raises(ValueError, match="the class OwnNetwork needs a config"):
        js.testing.check_network(OwnNetwork)


@pytest.mark.parametrize(
    ("policy", "value", "words"),
    [
        (np.float32(np.nan), 0, r"an output of position 0 is not finite\n  candidates: [01 ]+$"),
        (np.float32(0), np.inf, "an output of position 0 is not finite"),
        (np.float32(0), 0, "the policy is the same for all candidates"),
        (np.float32(0), [0, 0, 0], r"policy and value are .*'float32\[3\]'\], not .*'float32\[4\]'"),
    ],
)
def test_wrong_outputs_are_found(policy, value, words):
    seen, _ = positions(FOUR, 4)
    value = np.float32(value if isinstance(value, list) else [value] * 4)
    with pytest.raises(AssertionError, match=words):
        check_outputs(networks.Outputs(np.where(seen, policy, np.float32(ABSENT)), value), seen)


@pytest.mark.parametrize(
    ("name", "board", "batch"),
    [
        ("axial", NINE, 1),
        ("cellwise", SIX, 3),
        ("se_resnet", SIXTEEN, 2),  # enough pixels for products of tiles
        ("house_cnn", SIX, 2),
        ("house_resnet", SIX, 1),
        ("cell_cnn", NINE, 1),
    ],
    ids=str,
)
def test_outputs_on_larger_boards(name, board, batch):
    """Those of CubeNet: ``test_cube``."""
    seen, _ = positions(board, batch)
    check_outputs(made(name, board)(seen), seen)


def _loss(params, apply, seen, digits):
    """Cross-entropy of the right digits, and of the value of positions that all have a solution."""
    outputs = apply(params, seen)
    digit = optax.softmax_cross_entropy_with_integer_labels(outputs.policy.swapaxes(1, 2), digits).mean()
    return digit + optax.sigmoid_binary_cross_entropy(outputs.value, jnp.ones_like(outputs.value)).mean()


#: Kernels, whether the image continues on its other side, and the image's side.
KERNELS = [
    ((3, 3), False, 4),
    ((3, 3), True, 6),
    ((4, 2), False, 5),
    ((1, 6), True, 6),
    ((6, 6), True, 6),
]


@pytest.mark.parametrize(("shape", "wraps", "side"), KERNELS)
def test_a_convolution_is_that_of_flax(shape, wraps, side):
    """On a CPU products of matrices, of 3x3 tiles too; all forms and their gradients are those of ``nnx.Conv``."""
    rng = np.random.default_rng(0)
    image, weight = (rng.normal(size=(32, side, side, size)).astype(np.float32) for size in (5, 7))
    theirs = nnx.eval_shape(
        lambda: nnx.Conv(5, 7, shape, padding="CIRCULAR" if wraps else "SAME", use_bias=False, rngs=nnx.Rngs(0))
    )
    structure, state = nnx.split(theirs)
    kernel = rng.normal(0, 0.2, (*shape, 5, 7)).astype(np.float32)
    frame = tuple(((size - 1) // 2, size // 2) for size in shape)

    def expected(image, kernel):
        return nnx.merge(structure, jax.tree.map(lambda _: kernel, state))(image)

    def ours(image, kernel):
        return convolve(image, kernel, wraps)

    def of_accelerators(image, kernel):
        if wraps:
            image = jnp.pad(image, [(0, 0), *frame, (0, 0)], mode="wrap")
        return as_convolution(image, kernel, ((0, 0), (0, 0)) if wraps else frame)

    @jax.jit
    def results(image, kernel, weight):
        def of(form):
            found, back = jax.vjp(form, image, kernel)
            return found, *back(weight)

        return tuple(map(of, (expected, ours, of_accelerators)))

    right, *found = results(image, kernel, weight)
    for form in found:
        for one, other in zip(form, right, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@every_network
def test_training_lowers_the_loss(name):
    network = tiny(name)
    seen, digits = positions(FOUR, 8)

    @jax.jit
    def step(params):
        loss, gradient = jax.value_and_grad(_loss)(params, network.apply, seen, digits)
        return jax.tree.map(lambda leaf, slope: leaf - 0.01 * jnp.sign(slope), params, gradient), loss

    params, losses = network.params, []
    for _ in range(20):
        params, loss = step(params)
        losses.append(float(loss))
    assert losses[-1] < 0.8 * losses[0]
    # every parameter is of use: training reached it
    moved = jax.tree.map(lambda old, new: bool((old != np.asarray(new)).any()), network.params, params)
    assert all(jax.tree.leaves(moved)), moved


@pytest.mark.parametrize(("axes", "keepdims"), [((1,), False), ((1, 2), True), ((3, 1), False), ((0,), True)])
def test_the_gradient_of_a_maximum(axes, keepdims):
    """It is that of JAX where no two elements are equal; else the first of them gets all of it."""
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(2, 3, 4, 5, 6)).astype(np.float32)
    weight = weight.max(axes, keepdims=keepdims)

    @jax.jit
    def both(x):
        """The maximum and its gradient: ours and JAX's."""
        forms = (lambda x: layers.maximum(x, axes, keepdims)), (lambda x: x.max(axes, keepdims=keepdims))
        return [(found, *back(weight)) for found, back in (jax.vjp(form, x) for form in forms)]

    (ours, gradient), (expected, right) = both(x)
    np.testing.assert_array_equal(ours, expected)
    np.testing.assert_allclose(gradient, right, rtol=1e-6)
    even = np.asarray(both(np.zeros_like(x))[0][1])
    assert (even != 0).sum() == weight.size
    assert (even[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(4))] != 0).all()


@every_network
def test_bfloat16_is_close_to_float32(name):
    network = tiny(name)
    half = dataclasses.replace(network, apply=networks.make_forward(name, FOUR, **TINY[name], dtype="bfloat16"))
    seen, _ = positions(FOUR, 4)
    whole, rough = (jax.tree.map(np.asarray, each(seen)) for each in (network, half))
    difference = np.abs(whole.policy - rough.policy)[seen]
    assert difference.mean() < 0.05 * whole.policy[seen].std() + 1e-3
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
def test_the_pure_function_hashes_by_value(name):
    first, second = (networks.make_forward(name, FOUR, **TINY[name]) for _ in range(2))
    assert first == second and hash(first) == hash(second)
    assert first != networks.make_forward(name, NINE, **TINY[name])


def test_networks_that_differ_in_parameters_are_traced_once():
    traced = []

    @jax.jit
    def size(network, seen):
        traced.append(network.apply)
        return network.apply(network.params, seen).value

    seen, _ = positions(FOUR, 2)
    network = made("cell_cnn")
    for seed in range(2):
        apply = dataclasses.replace(network.apply)
        size.trace(networks.Network("cell_cnn", apply, drawn(apply.shapes(), seed)), seen)
    assert len(traced) == 1


@pytest.mark.parametrize("name", ["se_resnet", "cell_cnn"])
def test_irregular_regions(name):
    """Those of ``axial``: below."""
    apply = networks.make_forward(name, JIGSAW, **TINY[name])
    seen, _ = positions(FOUR, 4)
    assert jax.eval_shape(apply, apply.shapes(), seen).policy.shape == seen.shape


@pytest.mark.parametrize("name", ["house_cnn", "house_resnet"])
def test_kernels_of_boxes_refuse_irregular_regions(name):
    with pytest.raises(ValueError, match=f"{name} needs equal boxes, which 4x4 with irregular regions"):
        networks.make_network(name, JIGSAW, **TINY[name])


@pytest.mark.parametrize("board", [SIX, JIGSAW], ids=str)
def test_axial_attends_within_houses_alone(board):
    orders = attention.house_orders(board)
    assert [tuple(house) for house in orders.reshape(-1, board.side)] == list(board.houses)
    attend = jax.jit(layer(lambda rngs: attention.Layer(axial.AxialConfig(**TINY["axial"]), 3, rngs)))
    x = np.random.default_rng(0).normal(size=(1, board.side, board.side, 8)).astype(np.float32)
    touched = x.copy()
    touched[0, 1, 2] += 1
    changed = (np.asarray(attend(x)) != np.asarray(attend(touched)))[0].any(axis=-1)
    assert changed[1].all() and not np.delete(changed, 1, axis=0).any()


@pytest.mark.parametrize("board", [FOUR, JIGSAW], ids=str)
def test_axial_carries_each_cell_through_all_orders(board):
    """With layers that add nothing, the policy of a cell depends on that cell alone."""
    network = made("axial", board)
    idle = {
        number: {
            name: jax.tree.map(np.zeros_like, part) if name.startswith("from_") else part
            for name, part in layer.items()
        }
        for number, layer in network.params["layers"].items()
    }
    network = dataclasses.replace(network, params=network.params | {"layers": idle})
    seen, _ = positions(FOUR, 4)
    other = seen.copy()
    other[0, :, 6] = ~other[0, :, 6]
    both = (seen & other)[0]
    policies = [check_outputs(network(each), each)[0][0] for each in (seen, other)]
    unlike = (policies[0] != policies[1]).any(axis=0)
    assert both.any() and unlike[6] and not np.delete(unlike, 6).any()


def test_cell_cnn_sees_digits_as_numbers():
    candidates = np.ones((1, 4, 16), bool)
    for digit, cell in ((1, 0), (4, 5)):  # the other cells are open, as one with two candidates left is
        candidates[0, :, cell] = np.arange(1, 5) == digit
    candidates[0, 2:, 6] = False
    image = as_numbers(jnp.asarray(candidates.transpose(0, 2, 1).reshape(1, 4, 4, 4), jnp.float32))
    expected = np.full((4, 4), -0.5)
    expected[0, 0], expected[1, 1] = 1 / 4 - 0.5, 4 / 4 - 0.5
    np.testing.assert_array_equal(image[0, ..., 0], expected)
    shapes = networks.make_forward("cell_cnn", FOUR, **TINY["cell_cnn"], numbers=True).shapes()
    assert shapes["first"]["kernel"]["kernel"].shape == (3, 3, 1, 8)


def test_house_cnn_looks_along_houses():
    """From each kernel a cell sees all cells of its own house, and no other."""
    config = house_cnn.HouseCnnConfig(**TINY["house_cnn"])
    first = layer(lambda rngs: house_cnn.AlongHouses(config, SIX.side, SIX.box, rngs))
    row, column = 1, SIX.side - 2
    image = np.zeros((1, SIX.side, SIX.side, SIX.side), np.float32)
    touched = image.copy()
    touched[0, row, column, 3] = 1
    rows, columns = np.indices((SIX.side, SIX.side))
    height, width = SIX.box
    reach = {
        "row": (first.row, rows == row),
        "column": (first.column, columns == column),
        "whole": (first.whole, rows >= 0),
        "box": (first._within_boxes, (rows // height == row // height) & (columns // width == column // width)),
    }
    look = jax.jit(lambda image: [kernel(image) for kernel, _ in reach.values()])
    for (name, (_, house)), one, other in zip(reach.items(), look(image), look(touched), strict=True):
        np.testing.assert_array_equal((np.asarray(one) != np.asarray(other))[0].any(axis=-1), house, name)


@pytest.mark.parametrize(
    ("name", "sizes", "cause"),
    [
        ("axial", {"heads": 5}, "width must be a multiple of heads: 192 is not a multiple of 5"),
        ("axial", {"rounds": 0}, "rounds must be at least 1, not 0"),
        ("se_resnet", {"width": 64.0}, "width must be a whole number, not 64.0"),
        ("se_resnet", {"reduction": 3}, "width must be a multiple of reduction"),
        ("se_resnet", {"head": 12}, "head must be a multiple of groups"),
        ("house_cnn", {"layers": 2}, "layers must be at least 3"),
        ("house_cnn", {"width": 30}, "width must be a multiple of 4"),
        ("cell_cnn", {"dtype": "float16"}, "unknown dtype 'float16': choose one of float32, bfloat16"),
        (
            "cell_cnn",
            {"depth": 3},
            "the network cell_cnn has no option depth; it has width, features, hidden, numbers, dtype",
        ),
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
    network = made("axial")
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


def test_parameters_are_stored_in_half_the_space(tmp_path):
    network = made("cell_cnn")
    full, half = (
        networks.save_network(network, tmp_path / stored, stored=stored) for stored in ("float32", "bfloat16")
    )
    assert half.stat().st_size < 0.6 * full.stat().st_size
    loaded = networks.load_network(half)
    for leaf, original in zip(*map(jax.tree.leaves, (loaded.params, network.params)), strict=True):
        assert leaf.dtype == jnp.float32
        np.testing.assert_array_equal(leaf, original.astype(jnp.bfloat16).astype(np.float32))
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
    path = js.save_network(made("cell_cnn", board), tmp_path / "a.b")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.b.json", "a.b.safetensors"]
    assert networks.read_card(path).board == board
    assert js.load_network(path).board == board
    assert "for the board" in refusal(path, board=FOUR)


def test_facts_are_json_numbers_of_arrays_included(saved, tmp_path):
    network, _ = saved
    facts = {
        "loss": np.float32(0.5),
        "curve": np.arange(3),
        "solved": jax.device_put(np.float32(0.25)),
        "names": ("a", "b"),
    }
    card = networks.read_card(js.save_network(network, tmp_path / "facts", **facts))
    assert card.facts == {"loss": 0.5, "curve": [0, 1, 2], "solved": 0.25, "names": ["a", "b"]}
    for wrong in ({"loss": float("nan")}, {"made": {1, 2}}):
        with pytest.raises(ValueError, match="the facts of a card must be JSON"):
            js.save_network(network, tmp_path / "wrong", **wrong)
    assert not list(tmp_path.glob("wrong*")), "a save that is refused leaves files"


def test_parameters_of_another_network_are_not_saved(saved, tmp_path):
    network, _ = saved
    other = made("axial", width=4)
    with pytest.raises(ValueError, match="the parameters are not those of this axial"):
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
    path = js.save_network(made("cube"), tmp_path / "net")
    assert js.load_network(path, board=NINE, iterations=3).config.iterations == 3
    assert js.load_network(path, board=NINE).board == NINE
    assert js.load_network(path).board == FOUR


def test_a_network_takes_its_board_with_constraints(tmp_path):
    ruled = FOUR.with_(js.constraints.thermometer("r1c1 r1c2 r2c3", side=4))
    network = networks.for_board(made("cell_cnn"), ruled)
    path = js.save_network(network, tmp_path / "net")
    assert js.load_network(path).board == ruled
    assert js.load_network(path, board=FOUR).board == FOUR
    with pytest.raises(ValueError, match="the network cell_cnn is for a board of 4x4 .* thermometer, not for one"):
        networks.for_board(network, js.Board.diagonal(4))


def test_another_board_is_refused(saved):
    _, path = saved
    assert js.load_network(path, board=js.Board.classic(4)).board == FOUR
    said = refusal(path, board=NINE)
    assert str(path) in said and "4x4 with 2x2 boxes, not for 9x9 with 3x3 boxes" in said


def test_folder_of_a_run_is_its_network_unless_a_file_has_the_name(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    assert f"{run / 'network.safetensors'}: there is no such file" in refusal(run)
    js.save_network(made("cube"), run / "network", data="of the run")
    assert networks.read_card(run).facts == {"data": "of the run"}
    assert js.load_network(run).board == FOUR
    js.save_network(made("cube"), run, data="beside it")
    assert networks.read_card(run).facts == {"data": "beside it"}


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
    assert f"{path}: not a safetensors file" in refusal(path)


@pytest.mark.parametrize("header", [b'{"a":' * 10_000, b"[" * 10_000, b"{}", b"\xff" * 20])
def test_headers_of_tensors_that_make_no_sense_are_refused(saved, header):
    _, path = saved
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    alter_card(path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    assert refusal(path).startswith(f"{path}: not ")


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
    assert "altered: the checksum does not match the other fields" in refusal(path)


def test_a_save_that_stopped_half_way_is_refused(saved, monkeypatch):
    """The parameters are new, the card is still the old one."""
    network, path = saved

    def write(file, data):
        if file.suffix == ".json":
            raise KeyboardInterrupt
        file.write_bytes(data)

    monkeypatch.setattr(weights, "write_file", write)
    with pytest.raises(KeyboardInterrupt):
        js.save_network(dataclasses.replace(network, params=drawn(network.params, seed=8)), path)
    assert "truncated or altered" in refusal(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": weights.FORMAT + 1}, "a card of format 3; this version of jaxsudoku reads 2"),
        ({"format": 0}, "malformed: format"),
        ({"format": "1"}, "malformed: format"),
        ({"format": None}, "not a network's card (KeyError: 'format')"),
        ({"architecture": "resnext"}, "unknown network 'resnext'"),
        ({"architecture": None}, "architecture"),
        ({"architecture": "cell_cnn"}, "the config of cell_cnn has dtype, features, hidden, numbers, width; missing"),
        ({"architecture": 5}, "malformed: architecture"),
        ({"config": {}}, "missing or unknown: dtype, expansion, heads, hidden, rounds, width"),
        ({"config": {**TINY["axial"], "dtype": "float32", "heads": 3}}, "width must be a multiple of heads"),
        ({"config": {**TINY["axial"], "dtype": "float32", "rounds": "1"}}, "rounds must be a whole number, not '1'"),
        ({"config": {**TINY["axial"], "dtype": "float32", "width": 4}}, "a network of these sizes has"),
        (
            {"architecture": "cube", "config": {**dataclasses.asdict(NETWORKS["cube"].config()), "maximum": -1}},
            "maximum must be True or False, not -1",
        ),
        (
            {"architecture": "cube", "config": {**dataclasses.asdict(NETWORKS["cube"].config()), "iterations": 10**9}},
            "iterations must be at most 10000, not 1000000000",
        ),
        (
            {"config": {**TINY["axial"], "dtype": "float32", "rounds": 10**9}},
            "rounds must be at most 16, not 1000000000",
        ),
        ({"config": {**TINY["axial"], "dtype": "float32", "width": 10**9}}, "width must be at most 16384"),
        ({"config": {**TINY["axial"], "dtype": "float32", "rounds": -1}}, "rounds must be at least 1, not -1"),
        ({"config": [1]}, "malformed: config"),
        ({"board": {"name": "4x4", "side": 4, "box": [2, 3]}}, "a box of 2x3 has 6 cells"),
        ({"board": "4x4"}, "not a network's card"),
        ({"board": {"name": "6x6", "side": 6, "box": [2, 3]}}, "a network of these sizes has"),
        ({"parameters": 12}, "a network of these sizes has 2,077 parameters, not 12"),
        ({"sha256": 12}, "malformed: sha256"),
        ({"more": 1}, "more"),
    ],
)
def test_cards_that_are_malformed_or_tell_of_another_network_are_refused(saved, change, reason):
    _, path = saved
    alter_card(path, **change)
    said = refusal(path)
    assert said.startswith(str(path.with_suffix(".json"))) and reason in said


def test_every_number_of_a_config_is_bounded():
    """So that no card asks for more work or memory than there is."""
    for architecture in NETWORKS.values():
        sizes = dataclasses.asdict(architecture.config())
        for name in (name for name, value in sizes.items() if type(value) is int):
            with pytest.raises(ValueError, match=f"{name} must be at most "):
                architecture.config(**{**sizes, name: 10**6})


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "\xff"])
def test_cards_that_are_none_are_refused(saved, text):
    _, path = saved
    path.with_suffix(".json").write_bytes(text.encode("latin-1"))
    assert f"{path.with_suffix('.json')}: not a network's card" in refusal(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda tensors: tensors.pop("embedding.embed.bias"), "embedding.embed.bias is missing"),
        (lambda tensors: tensors.update(more=np.zeros(2)), "more is not one of its tensors"),
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
    assert said.startswith(f"{path}: not the parameters of axial with these sizes: ") and reason in said


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


def test_a_block_of_house_resnet_looks_along_houses():
    """A changed cell changes the features of all cells that share a house with it, and of no other."""
    config = house_resnet.HouseResNetConfig(width=8, house=8)
    # the kernels of a trained network differ from cell to cell, as those that are drawn here do
    block = jax.jit(layer(lambda rngs: house_resnet.Block(config, SIX.side, SIX.box, rngs)))
    rng = np.random.default_rng(0)
    image = rng.normal(size=(1, SIX.side, SIX.side, config.width)).astype(np.float32)
    row, column = 1, SIX.side - 2
    touched = image.copy()
    touched[0, row, column] += rng.normal(size=config.width).astype(np.float32)
    differs = (np.asarray(block(image)) != np.asarray(block(touched)))[0].any(axis=-1)
    cell = row * SIX.side + column
    expected = np.zeros(SIX.cells, bool)
    for house in SIX.houses:
        if cell in house:
            expected[list(house)] = True
    np.testing.assert_array_equal(differs.reshape(-1), expected)


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (2, 3)])
def test_a_kernel_of_house_resnet_is_a_convolution_with_a_stride(shape):
    """One house a window, as a convolution whose stride is the size of its kernel has it."""
    config = house_resnet.HouseResNetConfig(width=4, house=5)
    box = layer(lambda rngs: house_resnet.Block(config, 6, shape, rngs)).box
    image = np.random.default_rng(1).normal(size=(2, 6, 6, 4)).astype(np.float32)

    @jax.jit
    def both(image):
        kernel = box.kernel[...].reshape(*shape, 4, 5)
        theirs = jax.lax.conv_general_dilated(image, kernel, shape, "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return box(house_resnet.windows(image, shape)), box.back(jax.nn.relu(theirs))

    np.testing.assert_allclose(*both(image), atol=1e-5)


def test_repeats_of_house_resnet_share_their_weights():
    """Applied twice, the blocks are those of a network of twice as many with the same weights."""
    seen, _ = positions(FOUR, 4)
    once = made("house_resnet")
    twice, long = (
        networks.make_forward("house_resnet", FOUR, **TINY["house_resnet"] | sizes)
        for sizes in ({"repeats": 2}, {"blocks": 2 * TINY["house_resnet"]["blocks"]})
    )
    blocks = once.params["blocks"]
    params = {**once.params, "blocks": dict(enumerate([*blocks.values(), *blocks.values()]))}
    other = np.asarray(once(seen).policy)
    expected = np.asarray(dataclasses.replace(once, apply=long, params=params)(seen).policy)
    found = np.asarray(dataclasses.replace(once, apply=twice)(seen).policy)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert (np.abs(found - other) > 1e-4).any()
