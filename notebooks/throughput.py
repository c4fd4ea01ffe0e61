# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Throughput
#
# How many puzzles a second are solved, on what, and what makes the rate?
#
# Solvers on the web and SAT solvers take one puzzle at a time. jaxsudoku stores a batch of puzzles as bit-planes, one
# bit per puzzle, and a step of its exact search works on 2,048 nodes of a CPU at once. The recorded figures are in
# [benchmarks/results/exact.md](../benchmarks/results/exact.md): on one core 146 times the rate of minisat on 17-clue
# puzzles, and 20 to 86 times on shipped sets. This notebook measures the rate on the machine that runs it:
#
# 1. by the number of puzzles in a call,
# 2. by the number of lanes, with and without refilling them,
# 3. by the number of devices,
# 4. beside SAT solvers, if python-sat is installed,
# 5. beside other solvers of the library.
#
# The puzzles are the shipped sets, repeated and put under random symmetries, so that no two are equal. A rate of
# `js.solve` is the median of three calls after one that compiles, but of one call in "Refilling" and "Solvers". SAT
# solvers take their puzzles once; `exact.search` has the faster of two calls. Compile time is told apart. Rates vary up
# to threefold between cells: the same 65,536 extreme puzzles run at 55,175, 161,147 and 171,928 a second by `js.solve`
# with one device. Smaller differences mean little.

# %%
import heapq
import importlib.util
import itertools
import os
import time

# before jax is imported: the CPU shows itself as several devices, and programs are compiled here, not read from a cache
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ["JAXSUDOKU_CACHE"] = "0"

import jax
import matplotlib.pyplot as plt
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import jaxsudoku as js
from jaxsudoku.engine.batches import compile_seconds
from jaxsudoku.runtime.devices import usable_cores

#: A small setting for a machine that only checks that all of it runs.
SMALL = os.environ.get("JAXSUDOKU_SMALL") == "1"

board = js.Board.classic(4 if SMALL else 9)
names = ("4x4",) if SMALL else ("9x9-easy", "9x9-hard", "9x9-extreme")
sizes = (1, 32) if SMALL else (1, 64, 1024, 16384, 65536)
one_device = jax.devices()[:1]


def many(name, count):
    """Puzzles of a shipped set, repeated, each under its own random symmetry."""
    puzzles = np.resize(np.asarray(js.load(name)), (count, board.cells))
    return np.asarray(js.symmetry.apply(js.symmetry.sample(0, board, shape=count), puzzles))


sets = {name: many(name, sizes[-1]) for name in names}
print(f"{usable_cores()} usable cores, {jax.devices()[0]} of {len(jax.devices())} devices, jax {jax.__version__}")

# %% [markdown]
# ## Puzzles in a call
#
# `js.solve` takes numpy arrays and returns numpy arrays. Inputs are padded to one of a few sizes, so few programs are
# compiled, and a program serves every set.


# %%
def rate(puzzles, repeats=3, devices=one_device, **options):
    """Puzzles a second, the share that is solved, and the seconds of compiling before."""
    before = compile_seconds()
    solution = js.solve(puzzles, board, devices=devices, **options)
    compiling = compile_seconds() - before
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        solution = js.solve(puzzles, board, devices=devices, **options)
        seconds.append(time.perf_counter() - start)
    return len(puzzles) / np.median(seconds), (solution.status == js.Status.SOLVED).mean(), compiling


rates = {name: [] for name in names}
print(f"{'set':14}{'puzzles':>9}{'puzzles/s':>12}{'solved':>9}{'compiling, s':>14}")
for size, name in itertools.product(sizes, names):
    speed, solved, compiling = rate(sets[name][:size])
    rates[name].append(speed)
    print(f"{name:14}{size:9,}{speed:12,.0f}{solved:9.1%}{compiling:14.1f}")

# %%
figure, axis = plt.subplots(figsize=(7, 4))
for name in names:
    axis.loglog(sizes, rates[name], "o-", label=name)
axis.set(xlabel="puzzles in a call", ylabel="puzzles per second")
axis.set_title(f"exact on {one_device[0].device_kind}, {usable_cores()} cores", fontsize=10)
axis.grid(alpha=0.3)
axis.legend()
plt.show()

# %% [markdown]
# ## Lanes
#
# A lane is a bit in the planes. A step applies the rules in all lanes, and costs almost the same however few of them
# hold a node. Below is the rate by the number of lanes, for the same 16,384 puzzles.

# %%
lanes = (32,) if SMALL else (32, 256, 2048, 16384)
few = 32 if SMALL else 16384
by_lanes = {name: [rate(sets[name][:few], lanes=number)[0] for number in lanes] for name in names[-2:]}
figure, axis = plt.subplots(figsize=(7, 3.6))
for name, speeds in by_lanes.items():
    axis.loglog(lanes, speeds, "o-", label=name)
    print(f"{name:14}" + "   ".join(f"{n:,} lanes: {speed:,.0f}/s" for n, speed in zip(lanes, speeds, strict=True)))
axis.set(xlabel="lanes", ylabel="puzzles per second")
axis.set_xticks(lanes, labels=[f"{number:,}" for number in lanes])
axis.minorticks_off()
axis.set_title(f"exact, {few:,} puzzles in a call", fontsize=10)
axis.legend()
plt.show()

# %% [markdown]
# ## Refilling
#
# Puzzles need different numbers of steps. If a batch is as large as the lanes, it ends with its slowest puzzle, and
# most lanes are idle before. In the library a lane that is free takes the next puzzle (in the exact search the next
# node of one stack for all puzzles). Below is the schedule of 16 lanes, from the grids that annealing needed for each
# puzzle: in batches of 16, and with refilling.

# %%
width, count = (4, 16) if SMALL else (16, 256)
annealing = {"solver": "annealing", "rules": "none" if SMALL else "locked", "lanes": 128}
annealed = js.solve(sets[names[-1]][:count], board, devices=one_device, batch_size=512, **annealing)
grids = annealed.iterations / 1e6
print(f"annealing, {names[-1]}: {annealed}")


def in_batches(steps):
    """(lane, start, steps) of every puzzle, if a batch begins when the one before has ended."""
    start = 0
    for first in range(0, len(steps), width):
        batch = steps[first : first + width]
        yield from ((lane, start, step) for lane, step in enumerate(batch))
        start += max(batch)


def refilled(steps):
    """The same if a free lane takes the next puzzle at once."""
    free = [(0, lane) for lane in range(width)]
    for step in steps:
        start, lane = free[0]
        yield lane, start, step
        heapq.heapreplace(free, (start + step, lane))


figure, axes = plt.subplots(2, 1, figsize=(7.5, 4.6), sharex=True)
for axis, (title, schedule) in zip(axes, {"in batches": in_batches, "refilled": refilled}.items(), strict=True):
    bars = list(schedule(grids.tolist()))
    for lane, start, step in bars:
        axis.broken_barh([(start, step)], (lane, 0.85), color="tab:blue", ec="white", lw=0.3)
    end = max(start + step for _, start, step in bars)
    busy = grids.sum() / (width * end)
    axis.set(ylabel="lane", title=f"{title}: lanes busy {busy:.0%} of the time")
    print(f"{title}: {end:.3g} million grids, lanes busy {busy:.0%} of the time")
axes[1].set_xlabel("time, in millions of grids that a lane evaluates")
plt.tight_layout()
plt.show()

# %% [markdown]
# The same measured: the same lanes, in batches as large as the lanes, and in large batches whose lanes are refilled.

# %%
cases = {
    "exact, 2,048 lanes": (65536, {"lanes": 2048}, {"batch_size": 2048}, {"batch_size": 32768}),
    "annealing, 128 lanes": (1024, annealing, {"batch_size": 128}, {"batch_size": 512}),
}
if SMALL:
    cases = {"exact, 32 lanes": (32, {"lanes": 32}, {"batch_size": 32}, {"batch_size": 32})}
compared = {}
for title, (count, options, *batches) in cases.items():
    puzzles = sets[names[-1]][:count]
    compared[title] = [rate(puzzles, 1, **options, **batch)[0] for batch in batches]
    alone, together = compared[title]
    print(f"{title}, {names[-1]}: batches {alone:,.0f}/s, refilled {together:,.0f}/s, factor {together / alone:.1f}")

# %% [markdown]
# ## Devices
#
# `js.solve` divides each batch among the devices that it is given. On a CPU one device already has a thread for every
# core. `exact.search` under `jax.jit` has no threads: it runs where its puzzles are, on one core for each device. Here
# the CPU is split into two devices, whatever the number of its cores.

# %%
search = jax.jit(js.exact.search, compiler_options=js.compiler_options())
numbers = (1, 2) if len(jax.devices()) > 1 else (1,)
puzzles = sets[names[-1]]


def sharded_rate(devices):
    """Puzzles a second of ``exact.search``, the puzzles being on the devices already."""
    mesh = jax.make_mesh((len(devices),), ("batch",), axis_types=(AxisType.Explicit,), devices=devices)
    placed = jax.device_put(puzzles, NamedSharding(mesh, PartitionSpec("batch")))
    seconds = []
    for _ in range(3):  # the first one compiles
        start = time.perf_counter()
        found = jax.block_until_ready(search(placed))
        seconds.append(time.perf_counter() - start)
    assert (np.asarray(found.status) == js.Status.SOLVED).all()
    return len(puzzles) / min(seconds[1:])


by_devices = {
    "js.solve": [rate(puzzles, devices=jax.devices()[:number])[0] for number in numbers],
    "exact.search, sharded": [sharded_rate(jax.devices()[:number]) for number in numbers],
}
figure, axis = plt.subplots(figsize=(7, 3.6))
for shift, (name, speeds) in zip((-0.2, 0.2), by_devices.items(), strict=True):
    axis.bar(np.arange(len(numbers)) + shift, speeds, 0.38, label=name)
    print(f"{name:22}" + "   ".join(f"{n} devices: {speed:,.0f}/s" for n, speed in zip(numbers, speeds, strict=True)))
axis.set(xlabel="devices", ylabel="puzzles per second")
axis.set_xticks(range(len(numbers)), labels=numbers)
axis.set_title(f"{len(puzzles):,} puzzles of {names[-1]} on {usable_cores()} cores", fontsize=10)
axis.legend(loc="lower right")
plt.show()

# %% [markdown]
# ## SAT solvers
#
# A variable for each digit of each cell; exactly one digit a cell, and one cell for each digit of a house. One solver
# object takes all puzzles, one after another, with the givens as assumptions. Reading the clauses is not timed.
# [benchmarks/peers.py](../benchmarks/peers.py) has further peers.


# %%
def clauses():
    """The rules of the board as clauses."""
    variables = np.arange(1, board.candidates + 1).reshape(board.cells, board.side)
    houses = [variables[list(house), digit] for house in board.houses for digit in range(board.side)]
    for group in [*variables, *houses]:
        yield group.tolist()
        yield from ([-int(one), -int(other)] for one, other in itertools.combinations(group, 2))


def sat_rate(name, puzzles):
    """Puzzles a second of a solver of python-sat."""
    from pysat.solvers import Solver

    givens = [[int(cell) * board.side + int(puzzle[cell]) for cell in np.flatnonzero(puzzle)] for puzzle in puzzles]
    models = []
    with Solver(name=name, bootstrap_with=clauses()) as solver:
        start = time.perf_counter()
        for given in givens:
            if solver.solve(assumptions=given):
                models.append(solver.get_model())
        seconds = time.perf_counter() - start
    true = np.array([[variable for variable in model if variable > 0] for model in models])
    grids = ((true - 1) % board.side + 1).astype(np.uint8)
    assert len(grids) == len(puzzles) and np.asarray(js.is_solved(grids, board)).all()
    return len(puzzles) / seconds


peers = ("minisat22", "glucose4", "cadical195")
beside = {"jaxsudoku, one puzzle": {name: rates[name][0] for name in names}}
if importlib.util.find_spec("pysat"):
    for peer in peers:
        beside[peer] = {name: sat_rate(peer, sets[name][: 8 if SMALL else 300]) for name in names}
else:
    print(f"absent: {', '.join(peers)}, because python-sat is not installed")
beside[f"jaxsudoku, {sizes[-1]:,}"] = {name: rates[name][-1] for name in names}
print(f"{'puzzles/s':26}" + "".join(f"{name:>14}" for name in names))
for solver, speeds in beside.items():
    print(f"{solver:26}" + "".join(f"{speeds[name]:14,.0f}" for name in names))

# %%
figure, axis = plt.subplots(figsize=(7.5, 4))
place = np.arange(len(names))
for number, (solver, speeds) in enumerate(beside.items()):
    axis.bar(place + 0.16 * number, [speeds[name] for name in names], 0.15, label=solver)
axis.set(yscale="log", ylabel="puzzles per second")
axis.set_xticks(place + 0.16 * (len(beside) - 1) / 2, labels=names)
axis.set_ylim(top=axis.get_ylim()[1] * 30)
axis.legend(fontsize=8, ncols=2, loc="upper right")
plt.show()

# %% [markdown]
# ## Solvers
#
# Annealing swaps digits in full grids. `iterative` fills the cell that a network is surest of, and completes the board
# with the network's probabilities after every call. Neither can prove anything. Both apply locked candidates first,
# which solve nearly all easy puzzles. Each solver has as many puzzles as
# it solves in some seconds, so the rates of the slower ones would be higher in larger batches.

# %%
network = js.load_network("cube", board=board, iterations=2 if SMALL else 8)
solvers = {
    "exact": (sizes[-1], {}),
    "annealing": (512, {"batch_size": 512, **annealing}),
    "iterative, network": (64, {"solver": "iterative", "network": network}),
}
if SMALL:
    solvers = {"exact": (32, {}), "annealing": (16, annealing)}
figure, axis = plt.subplots(figsize=(7, 3.8))
for shift, (solver, (count, options)) in enumerate(solvers.items()):
    speeds = []
    for name in names:
        speed, solved, _ = rate(sets[name][:count], repeats=1, **options)
        speeds.append(speed)
        print(f"{solver:20}{name:14}{count:7,} puzzles, {speed:12,.0f}/s, solved {solved:6.1%}")
    axis.bar(np.arange(len(names)) + 0.26 * shift, speeds, 0.25, label=f"{solver}, {count:,} puzzles")
axis.set(yscale="log", ylabel="puzzles per second")
axis.set_xticks(np.arange(len(names)) + 0.26, labels=names)
axis.set_ylim(top=axis.get_ylim()[1] * 20)
axis.legend(fontsize=8, loc="upper right")
plt.show()

# %% [markdown]
# ## What was found
#
# - **Batches make the rate.** A call with 1,024 puzzles takes two to four times as long as one with a single puzzle, so
#   the rate grows by orders of magnitude from one puzzle to tens of thousands. Compiling takes 17 to 21 s, longer than
#   solving any of these sets once; it is paid once for each of a few input sizes. With 16,384 and 65,536 puzzles
#   extreme ones run at about an eighth of the rate of easy ones; with fewer, hard and extreme ones differ by less than
#   the noise.
# - **Lanes must be many and busy.** 2,048 lanes are 7.1 (hard) and 3.7 times (extreme) as fast as 32. With 16,384
#   lanes, as many as puzzles, none is refilled, and the rate is 3.1 and 1.8 times lower, the latter within the noise.
#   Annealing needs many times the steps for some puzzles: in batches as large as the lanes these are idle 80% of the
#   time; refilled ones are busy 90% of it. Measured, refilling gives annealing a factor of 2.3, and the exact search
#   one of 1.3; both are less than the threefold by which rates vary here.
# - **Devices**: `js.solve` on one CPU device uses all cores. With the CPU split into two its rate is 13% lower, which
#   is within the noise. `exact.search` on sharded puzzles is 2.4 times as fast with a second device; a second core can
#   double its rate, the rest is noise.
# - **SAT solvers** are faster than the library for a single puzzle at a time. A large batch on two cores is 17 times
#   (extreme) to 52 times (easy) as fast as the fastest of the three, which run on one core.
# - **Other solvers** are slower than the exact search, on hard puzzles by orders of magnitude, and a network is the
#   slowest. Of these three only the exact search is sure to solve every puzzle.
