#!/usr/bin/env bash
# Measures the library on a machine with a GPU, most important part first, within BUDGET seconds (450) altogether.
#
#   bash benchmarks/gpu.sh                              figures under benchmarks/out
#   OUT=/some/folder JAXSUDOKU_DATA=/some/sets bash benchmarks/gpu.sh
#   PARTS="lanes rounds" bash benchmarks/gpu.sh         these parts alone, such as those for which no time was left
#   WHEELS=/some/wheels bash benchmarks/gpu.sh          without a network: packages that are not installed, as wheels
#   QUICK=1 bash benchmarks/gpu.sh                      tiny sizes, to see that all of it runs, on any machine
#
# PYTHON names the interpreter (python3); it needs jax and numpy. Networks need flax, chex and safetensors too, tree
# search mctx, training optax and orbax-checkpoint: parts whose packages are absent are left out. Nothing is installed
# or downloaded. Puzzle sets are read from JAXSUDOKU_DATA, or from .data in the checkout and ../shared/data beside it; a
# shipped set replaces an absent one. A part that fails, is stopped or is left out, and a device that JAX doesn't find,
# are told as TROUBLE at the end, and make the exit status 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PYTHON=${PYTHON:-python3}
OUT=${OUT:-benchmarks/out}
PARTS=${PARTS:-}
WHEELS=${WHEELS:-}
QUICK=${QUICK:-}
BUDGET=${BUDGET:-450}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$OUT"
rm -f "$OUT"/gpu-*.json
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# The library's cache of compiled programs begins empty: a program is compiled once, and only then is "first s" long.
export XDG_CACHE_HOME="$work/cache"
# Tiny sizes are compiled in a hurry; their figures mean nothing.
[[ -z $QUICK ]] || export JAX_DISABLE_MOST_OPTIMIZATIONS=${JAX_DISABLE_MOST_OPTIMIZATIONS:-1}

say() { printf '\n== %s\n' "$*"; }

# ---------------------------------------------------------------------- packages

# The checkout is used without installing it. The figures record the version of the package, which is read from its
# metadata; if it is not installed, a folder with metadata is made.
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
if ! "$PYTHON" -c 'import importlib.metadata as m; m.version("jaxsudoku")' 2>"$work/metadata.log"; then
  version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' jaxsudoku/_version.py)
  info="$work/site/jaxsudoku-$version.dist-info"
  mkdir -p "$info"
  printf 'Metadata-Version: 2.1\nName: jaxsudoku\nVersion: %s\n' "$version" >"$info/METADATA"
  export PYTHONPATH="$PYTHONPATH:$work/site"
fi

# Wheels are unpacked, as some can't be imported otherwise. Those of installed packages are not used: they could hide a
# jaxlib that is made for this device.
if [[ -n $WHEELS ]]; then
  say "wheels"
  "$PYTHON" - "$WHEELS" "$work/wheels" <<'PYTHON'
import importlib.metadata, pathlib, sys, zipfile

wheels = sorted(pathlib.Path(sys.argv[1]).glob("*.whl"))
if not wheels:
    sys.exit(f"no wheels in {sys.argv[1]}")
for wheel in wheels:
    name, version, *_ = wheel.name.split("-")
    try:
        print(f"{name} {version}: not used, {importlib.metadata.version(name)} is installed")
    except importlib.metadata.PackageNotFoundError:
        zipfile.ZipFile(wheel).extractall(sys.argv[2])
        print(f"{name} {version}: used")
PYTHON
  export PYTHONPATH="$PYTHONPATH:$work/wheels"
fi

say "device"
if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit --format=csv ||
    echo "nvidia-smi failed"
else
  echo "no nvidia-smi here"
fi
"$PYTHON" - "$work" <<'PYTHON'
import importlib, pathlib, sys

import jax, jaxsudoku

print("jax", jax.__version__, jax.devices(), "jaxsudoku", jaxsudoku.__file__)
absent = []
for name in ("chex", "flax", "mctx", "optax", "orbax.checkpoint", "safetensors"):
    try:
        importlib.import_module(name)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}.")
        reason = "is not installed" if missing else f"can't be imported: {type(error).__name__}: {error}"
        absent.append(f"{name}\t{name} {' '.join(reason.split())}\n")
work = pathlib.Path(sys.argv[1])
(work / "absent").write_text("".join(absent))
(work / "platform").write_text(jax.default_backend())
print("".join(line.split("\t")[1] for line in absent), end="")
PYTHON

# ---------------------------------------------------------------------- puzzle sets

"$PYTHON" benchmarks/sets.py >"$work/sets"
say "puzzle sets found: name, side, puzzles, file"
cat "$work/sets"

# pick SIDE NAME...: prints the first of the sets that is there, or else the largest of that side.
pick() {
  local side=$1 name
  shift
  for name in "$@"; do
    if awk -F '\t' -v name="${name%%@*}" '$1 == name { found = 1 } END { exit !found }' "$work/sets"; then
      printf '%s\n' "$name"
      return
    fi
  done
  awk -F '\t' -v side="$side" '$2 == side { print $3 "\t" $1 }' "$work/sets" | sort -rn | head -n 1 | cut -f 2
}

few=$(pick 9 17clue)
hard=$(pick 9 hardest_se11 hardest 9x9-extreme)
easy=$(pick 9 kaggle1m_sample 9x9-easy)
rated=$(pick 9 kaggle3m_rated 9x9-hard)
wide=$(pick 16 acs_16x16@40)
widest=$(pick 25 acs_25x25@40)
echo "used: few givens: $few; hard: $hard; easy: $easy; rated: $rated; 16x16: $wide; 25x25: $widest"

# ---------------------------------------------------------------------- parts

names=()
joined=()
troubles=()
if [[ -z $QUICK && $(<"$work/platform") == cpu ]]; then
  troubles+=("device: JAX found no accelerator, so the figures are those of a CPU")
fi

# part NAME SECONDS MODULES SCRIPT ARGUMENT...: a benchmark with these arguments, for at most so long and within the
# budget. Left out if one of the modules can't be imported, or if less than 15 seconds are left.
part() {
  local name=$1 limit=$2 modules=$3 script=$4 left=$((BUDGET - SECONDS)) status=0 file module reason
  shift 4
  names+=("$name")
  [[ -z $PARTS || " $PARTS " == *" $name "* ]] || return 0
  for module in $modules; do
    reason=$(awk -F '\t' -v module="$module" '$1 == module { print $2 }' "$work/absent")
    if [[ -n $reason ]]; then
      say "$name: left out, $reason"
      troubles+=("$name: left out, $reason")
      return
    fi
  done
  if ((left < 15)); then
    say "$name: left out, $left of $BUDGET seconds are left"
    troubles+=("$name: left out, the time was up")
    return
  fi
  ((limit < left)) || limit=$left
  file=$(printf '%s/gpu-%02d-%s.json' "$OUT" "${#names[@]}" "$name")
  say "$name, at most $limit s: $script $*"
  timeout -k 5 "$limit" "$PYTHON" "benchmarks/$script" "$@" --json "$file" || status=$?
  if ((status == 124 || status == 137)); then
    troubles+=("$name: stopped after $limit s; finished runs: $([[ -f $file ]] && echo "in $file" || echo none)")
  elif ((status)); then
    troubles+=("$name: exit status $status")
  fi
  [[ $script != throughput.py || ! -f $file ]] || joined+=("$file")
  echo "$name: $SECONDS s so far"
}

# exact NAME SECONDS ARGUMENT...: a part that measures the exact search.
exact() { part "$1" "$2" "" throughput.py "${@:3}"; }

# sweep OPTION VALUE...: prints a solver's options, one for each value, as arguments.
sweep() {
  local option=$1 value
  shift
  for value in "$@"; do printf -- '--options\n%s=%s\n' "$option" "$value"; done
}

networks="flax chex safetensors"
searches="$networks mctx"
training="$networks optax orbax.checkpoint"

if [[ -n $QUICK ]]; then
  gumbel=(search.py --set "$few" --solvers gumbel --option simulations=2 --iterations 2 --repeat 1)
  exact few 60 --sets "$few" --puzzles 1024 --repeat 2 --options rounds=1
  part gumbel-32 120 "$searches" "${gumbel[@]}" --batch 32
  part parts 120 "" parts.py --set "$few" --puzzles 2048 --lanes 1024 --copied 4096 --calls 1 --repeat 1
  part annealing 60 "" population.py --set "$rated" --puzzles 16 --option rules=none --option budget=20
  part evolution 60 "" population.py --set "$rated" --puzzles 16 --solver evolution --option rules=none \
    --option epochs=32 --option restarts=0
  part training 120 "$training" training.py --preset tiny --steps 2 --repeat 1
  part minimal 120 "" generation.py --puzzles 64 --repeat 1 --wishes minimal
  part clues 60 "" generation.py --puzzles 64 --repeat 1 --wishes 24:34
  exact resident 60 --sets "$few" --puzzles 1024 --repeat 1 --options rounds=1,lanes=1024 --resident
  exact unique 60 --sets "$few" --puzzles 1024 --repeat 1 --limit 2 --options rounds=1
  exact 16x16 60 --sets "$wide" --puzzles 64 --repeat 1 --options rounds=1,lanes=64
  part mastermind 60 "" mastermind.py --games 3x4 --players entropy
  part cube 60 "$networks" networks.py --networks cube --batch 32 --repeat 1
else
  gumbel=(search.py --set "$few" --solvers gumbel --option simulations=16 --iterations 16 --repeat 3)
  speeds=(networks.py --dtype float32,bfloat16 --repeat 3)
  mapfile -t lanes < <(sweep lanes 32768 131072 262144 524288)
  mapfile -t rounds < <(sweep rounds 3 6 8)
  mapfile -t forms < <(sweep settle bands xla)
  # The exact search: on the device, by its parts, and from host to host.
  exact resident 75 --sets "$few,$hard" --puzzles 1000000 --repeat 5 --resident "${forms[@]}"
  part parts 90 "" parts.py --set "$few" --trace "$OUT/trace"
  exact few 50 --sets "$few" --puzzles 2000000 --memory "${forms[@]}"
  exact hard 50 --sets "$hard" --puzzles 2000000 --repeat 3 "${forms[@]}"
  exact batches 60 --sets "$few,$hard" --puzzles 2000000 --repeat 3 --batch 262144,524288,1048576,2097152
  # One figure of everything else.
  part mastermind 40 "" mastermind.py --games 5x8 --players entropy,expected-size
  part gumbel-1024 150 "$searches" "${gumbel[@]}" --batch 1024
  part annealing 70 "" population.py --set "$rated" --option rules=none --option budget=100
  part evolution 55 "" population.py --set "$rated" --puzzles 2048 --solver evolution --option rules=none \
    --option epochs=5000 --option restarts=0
  part training 120 "$training" training.py --preset gpu
  part minimal 70 "" generation.py --puzzles 131072 --repeat 2 --wishes minimal
  part clues 40 "" generation.py --puzzles 131072 --repeat 2 --wishes 24:34
  # What is left of the time goes to these.
  part gumbel-4096 130 "$searches" "${gumbel[@]}" --batch 4096
  part gumbel-256 110 "$searches" "${gumbel[@]}" --batch 256
  exact lanes 100 --sets "$few,$hard" --puzzles 500000 --repeat 3 "${lanes[@]}"
  exact rounds 100 --sets "$few,$hard" --puzzles 500000 --repeat 3 "${rounds[@]}"
  exact unique 60 --sets "$few" --puzzles 2000000 --limit 2 --repeat 3
  exact easy 60 --sets "$easy" --puzzles 4000000 --repeat 3
  exact 16x16 60 --sets "$wide" --puzzles 20000 --repeat 3
  exact 25x25 90 --sets "$widest" --puzzles 2688 --repeat 2
  part cube 60 "$networks" "${speeds[@]}" --networks cube --batch 256,1024,8192
  part networks 120 "$networks" "${speeds[@]}" --networks axial,se_resnet,house_cnn,house_resnet,cell_cnn --batch 1024
fi
for name in $PARTS; do
  [[ " ${names[*]} " == *" $name "* ]] || troubles+=("$name: no such part; there are ${names[*]}")
done

# ---------------------------------------------------------------------- all in one table

if ((${#joined[@]})); then
  say "all figures of the exact search"
  "$PYTHON" benchmarks/report.py "${joined[@]}" || true
fi
printf '%s\n' "${troubles[@]/#/TROUBLE: }"
echo "$SECONDS s altogether; raw figures in $OUT/gpu-*.json"
((${#troubles[@]} == 0))
