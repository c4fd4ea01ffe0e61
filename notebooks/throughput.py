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
# **What was found.** Batches make the rate. On one core a call with one puzzle solves 228 to 381 puzzles a second, a
# call with 65,536 puzzles 0.16 to 1.16 million, which is 32 to 69 times the rate of the fastest of three SAT solvers.
#
# ![Puzzles per second by the number of puzzles in a call](../docs/images/notebooks/throughput.png)
#
# How many puzzles are solved per second, and what does the rate depend on?
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
# solvers take their puzzles once; `exact.search` has the faster of two calls. Seconds are those that the CPU spends on
# this notebook, on one core, so other programs on the machine change them little. On a machine that does nothing else,
# set `clock` to `time.perf_counter`: the rates of several cores are then added up.

# %% [markdown] tags=["install"]
# To run this notebook on another machine, such as in Colab, upload it together with the source distribution
# `jaxsudoku-*.tar.gz`, which `python -m build --sdist` makes in a checkout. The next cell installs it where jaxsudoku
# is missing.

# %% tags=["install"]
import importlib.util
import os
import subprocess
import sys

if importlib.util.find_spec("jaxsudoku") is None:  # as in Colab
    fetch = "mkdir checkout && tar xzf jaxsudoku-*.tar.gz --strip-components=1 -C checkout"
    install = f"{sys.executable} -m pip install --quiet './checkout[evosax,plot,train]'"
    subprocess.run(f"{fetch} && {install}", shell=True, check=True)
    os.chdir("checkout/notebooks")
    sys.path.insert(0, os.path.dirname(os.getcwd()))

# %%
import heapq
import importlib.util
import itertools
import os
import time

os.environ["JAXSUDOKU_CACHE"] = "0"  # before jax is imported: programs are compiled here, not read from a cache

import jax
import matplotlib.pyplot as plt
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import jaxsudoku as js
from jaxsudoku.runtime.devices import usable_cores

# %% tags=["parameters"]
clock = time.process_time  # time.perf_counter on a machine that does nothing else
unit = "puzzles per second of the CPU"  # or "puzzles per second"
board = js.Board.classic(9)
names = ("9x9-easy", "9x9-hard", "9x9-extreme")
sizes = (1, 64, 1024, 16384, 65536)  # puzzles in a call
lanes = (32, 256, 2048, 16384)
few = 16384  # puzzles that are solved with each number of lanes
width = 16  # lanes of the schedule that is drawn, for so many puzzles
drawn = 256
annealing = {"solver": "annealing", "rules": "locked", "lanes": 128}
cases = {
    "exact, 2,048 lanes": (65536, {"lanes": 2048}, {"batch_size": 2048}, {"batch_size": 32768}),
    "annealing, 128 lanes": (1024, annealing, {"batch_size": 128}, {"batch_size": 512}),
}
for_sat = 300  # puzzles of a set for each SAT solver
network = js.load_network("cube", board=board, iterations=8)
solvers = {
    "exact": (sizes[-1], {}),
    "annealing": (512, {"batch_size": 512, **annealing}),
    "iterative, network": (64, {"solver": "iterative", "network": network}),
}


# %%
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
    """Puzzles a second, the share that is solved, and the seconds of the first call, which compiles."""
    seconds = []
    for _ in range(1 + repeats):
        start = clock()
        solution = js.solve(puzzles, board, devices=devices, **options)
        seconds.append(clock() - start)
    return len(puzzles) / np.median(seconds[1:]), (solution.status == js.Status.SOLVED).mean(), seconds[0]


# %%
rates = {name: [] for name in names}
print(f"{'set':14}{'puzzles':>9}{'puzzles/s':>12}{'solved':>9}{'first call, s':>15}")
for size, name in itertools.product(sizes, names):
    speed, solved, first = rate(sets[name][:size])
    rates[name].append(speed)
    print(f"{name:14}{size:9,}{speed:12,.0f}{solved:9.1%}{first:15.1f}")

# %% tags=["picture"]
figure, axis = plt.subplots(figsize=(7, 4))
for name in names:
    axis.loglog(sizes, rates[name], "o-", label=name)
axis.set(xlabel="puzzles in a call", ylabel=unit)
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
by_lanes = {name: [rate(sets[name][:few], lanes=number)[0] for number in lanes] for name in names[-2:]}
figure, axis = plt.subplots(figsize=(7, 3.6))
for name, speeds in by_lanes.items():
    axis.loglog(lanes, speeds, "o-", label=name)
    print(f"{name:14}" + "   ".join(f"{n:,} lanes: {speed:,.0f}/s" for n, speed in zip(lanes, speeds, strict=True)))
axis.set(xlabel="lanes", ylabel=unit)
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
annealed = js.solve(sets[names[-1]][:drawn], board, devices=one_device, batch_size=512, **annealing)
grids = annealed.iterations / 1e6
print(f"annealing, {names[-1]}: {annealed}")


# %%
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


# %%
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
compared = {}
for title, (count, options, *batches) in cases.items():
    puzzles = sets[names[-1]][:count]
    compared[title] = [rate(puzzles, 1, **options, **batch)[0] for batch in batches]
    alone, together = compared[title]
    print(f"{title}, {names[-1]}: batches {alone:,.0f}/s, refilled {together:,.0f}/s, factor {together / alone:.1f}")

# %% [markdown]
# ## Devices
#
# `js.solve` divides each batch among the devices that it is given. `exact.search` under `jax.jit` runs where its
# puzzles are; here they are spread evenly over the devices. A CPU is one device, so this section has a row for each
# function. On a machine with several GPUs or TPUs it compares one device with all of them; `clock` is then
# `time.perf_counter`.

# %%
search = jax.jit(js.exact.search, compiler_options=js.compiler_options())
numbers = sorted({1, len(jax.devices())})
puzzles = sets[names[-1]]


def sharded_rate(devices):
    """Puzzles a second of ``exact.search``, the puzzles being on the devices already."""
    mesh = jax.make_mesh((len(devices),), ("batch",), axis_types=(AxisType.Explicit,), devices=devices)
    placed = jax.device_put(puzzles, NamedSharding(mesh, PartitionSpec("batch")))
    seconds = []
    for _ in range(3):  # the first one compiles
        start = clock()
        found = jax.block_until_ready(search(placed))
        seconds.append(clock() - start)
    assert (np.asarray(found.status) == js.Status.SOLVED).all()
    return len(puzzles) / min(seconds[1:])


# %%
by_devices = {
    "js.solve": [rate(puzzles, devices=jax.devices()[:number])[0] for number in numbers],
    "exact.search, sharded": [sharded_rate(jax.devices()[:number]) for number in numbers],
}
print(f"{len(puzzles):,} puzzles of {names[-1]}; devices: {', '.join(map(str, numbers))}")
for name, speeds in by_devices.items():
    print(f"{name:22}" + "".join(f"{speed:12,.0f}/s" for speed in speeds))

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


# %%
def sat_rate(name, puzzles):
    """Puzzles a second of a solver of python-sat."""
    from pysat.solvers import Solver

    givens = [[int(cell) * board.side + int(puzzle[cell]) for cell in np.flatnonzero(puzzle)] for puzzle in puzzles]
    models = []
    with Solver(name=name, bootstrap_with=clauses()) as solver:
        start = clock()
        for given in givens:
            if solver.solve(assumptions=given):
                models.append(solver.get_model())
        seconds = clock() - start
    true = np.array([[variable for variable in model if variable > 0] for model in models])
    grids = ((true - 1) % board.side + 1).astype(np.uint8)
    assert len(grids) == len(puzzles) and np.asarray(js.is_solved(grids, board)).all()
    return len(puzzles) / seconds


# %%
peers = ("minisat22", "glucose4", "cadical195")
beside = {"jaxsudoku, one puzzle": {name: rates[name][0] for name in names}}
if importlib.util.find_spec("pysat"):
    for peer in peers:
        beside[peer] = {name: sat_rate(peer, sets[name][:for_sat]) for name in names}
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
axis.set(yscale="log", ylabel=unit)
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
figure, axis = plt.subplots(figsize=(7, 3.8))
for shift, (solver, (count, options)) in enumerate(solvers.items()):
    speeds = []
    for name in names:
        speed, solved, _ = rate(sets[name][:count], repeats=1, **options)
        speeds.append(speed)
        print(f"{solver:20}{name:14}{count:7,} puzzles, {speed:12,.0f}/s, solved {solved:6.1%}")
    axis.bar(np.arange(len(names)) + 0.26 * shift, speeds, 0.25, label=f"{solver}, {count:,} puzzles")
axis.set(yscale="log", ylabel=unit)
axis.set_xticks(np.arange(len(names)) + 0.26, labels=names)
axis.set_ylim(top=axis.get_ylim()[1] * 20)
axis.legend(fontsize=8, loc="upper right")
plt.show()

# %% [markdown]
# ## Findings
#
# - **Batches make the rate.** A call with 1,024 puzzles takes 1.4 times (easy) to 2.3 times (extreme) as long as one
#   with a single puzzle. So the rate grows by orders of magnitude from one puzzle to tens of thousands. The first call
#   takes about 5 s more, because it compiles; this happens once for each of a few input sizes. With 16,384 puzzles and
#   more extreme ones run at a sixth to a seventh of the rate of easy ones.
# - **Lanes must be many and busy.** 2,048 lanes are 3.5 times (hard) and 4.2 times (extreme) as fast as 32. With 16,384
#   lanes, as many as puzzles, none is refilled, and the rate is 2.8 and 1.9 times lower. Annealing needs many times the
#   steps for some puzzles: in batches as large as the lanes these are idle 80% of the time; refilled ones are busy 90%
#   of it. Measured, refilling makes annealing 2.3 times as fast, and the exact search 1.2 times.
# - **Devices**: on one device `js.solve`, which takes and returns numpy arrays, is as fast as `exact.search` on puzzles
#   that are on the device already, within 3%.
# - **SAT solvers** are faster than the library for a single puzzle at a time. A large batch is 32 times (extreme) to 69
#   times (easy) as fast as the fastest of the three, all on one core.
# - **Other solvers** are slower than the exact search, on hard puzzles by orders of magnitude, and a network is the
#   slowest. Of these three only the exact search is sure to solve every puzzle.
