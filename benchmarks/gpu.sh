#!/usr/bin/env bash
# Runs the throughput suite on a machine with a GPU, most important part first, within BUDGET seconds (450) altogether.
#
#   bash benchmarks/gpu.sh                              figures under benchmarks/out
#   OUT=/some/folder JAXSUDOKU_DATA=/some/sets bash benchmarks/gpu.sh
#   QUICK=1 bash benchmarks/gpu.sh                      tiny sizes, to see that all of it runs, on any machine
#
# PYTHON names the interpreter (python3); it needs jax and numpy, and flax for the networks. Nothing is installed or
# downloaded. Puzzle sets are read from JAXSUDOKU_DATA, or from .data in the checkout and ../shared/data beside it; a
# shipped set replaces an absent one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PYTHON=${PYTHON:-python3}
OUT=${OUT:-benchmarks/out}
QUICK=${QUICK:-}
BUDGET=${BUDGET:-450}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$OUT"
rm -f "$OUT"/gpu-*.json "$OUT"/generation.json "$OUT"/networks.json
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

say() { printf '\n== %s\n' "$*"; }

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

say "device"
if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit --format=csv ||
    echo "nvidia-smi failed"
else
  echo "no nvidia-smi here"
fi
"$PYTHON" -c 'import jax, jaxsudoku; print("jax", jax.__version__, jax.devices(), "jaxsudoku", jaxsudoku.__file__)'

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
hard=$(pick 9 hardest_se11 hardest hard)
easy=$(pick 9 kaggle1m_sample easy)
large=$(pick 16 acs_16x16@40)
echo "used: few givens: ${few:-none}; hard: ${hard:-none}; easy: ${easy:-none}; 16x16: ${large:-none}"
if [[ -z $few ]]; then
  echo "no puzzles of 9x9 at all: set JAXSUDOKU_DATA to a folder of sets" >&2
  exit 2
fi

# ---------------------------------------------------------------------- parts

parts=0
troubles=()

# timed NAME SECONDS LEAST ARGUMENT...: Python with these arguments, for at most so long and within the budget; left out
# if less than LEAST seconds are left.
timed() {
  local name=$1 limit=$2 least=$3 left=$((BUDGET - SECONDS)) status=0
  shift 3
  if ((left < least)); then
    say "$name: left out, $left of $BUDGET seconds are left"
    troubles+=("$name: left out, the time was up")
    return
  fi
  ((limit < left)) || limit=$left
  say "$name, at most $limit s: $*"
  timeout -k 5 "$limit" "$PYTHON" "$@" || status=$?
  if ((status == 124 || status == 137)); then
    troubles+=("$name: stopped after $limit s; what it had finished is told above")
  elif ((status)); then
    troubles+=("$name: exit status $status")
  fi
}

# part NAME SECONDS ARGUMENT...: the throughput suite with these arguments.
part() {
  local name=$1 limit=$2 file
  shift 2
  parts=$((parts + 1))
  file=$(printf '%s/gpu-%02d-%s.json' "$OUT" "$parts" "$name")
  timed "$name" "$limit" 15 benchmarks/throughput.py --json "$file" "$@"
}

# sweep OPTION VALUE...: prints a solver's options, one for each value, as arguments.
sweep() {
  local option=$1 value
  shift
  for value in "$@"; do printf -- '--options\n%s=%s\n' "$option" "$value"; done
}

if [[ -n $QUICK ]]; then
  part few 40 --sets "$few" --puzzles 4096 --repeat 2 --options rounds=1
  part resident 40 --sets "$few" --puzzles 2048 --repeat 1 --options rounds=1,lanes=1024 --resident
  part unique 40 --sets "$few" --puzzles 1024 --repeat 1 --limit 2 --options rounds=1
  [[ -z $large ]] || part 16x16 40 --sets "$large" --puzzles 64 --repeat 1 --options rounds=1,lanes=64
else
  mapfile -t lanes < <(sweep lanes 32768 131072 524288)
  mapfile -t rounds < <(sweep rounds 3 5 8)
  part few 90 --sets "$few" --puzzles 2000000 --memory
  part hard 90 --sets "$hard" --puzzles 500000
  part lanes 120 --sets "$few,$hard" --puzzles 500000 --repeat 3 "${lanes[@]}"
  part resident 60 --sets "$few,$hard" --puzzles 1000000 --resident
  part easy 60 --sets "$easy" --puzzles 4000000 --repeat 3
  part unique 60 --sets "$few" --puzzles 2000000 --limit 2 --repeat 3
  part rounds 120 --sets "$few,$hard" --puzzles 500000 --repeat 3 "${rounds[@]}"
  if [[ -n $large ]]; then
    part 16x16 60 --sets "$large" --puzzles 20000 --repeat 3
  else
    troubles+=("16x16: left out, there is no such set")
  fi
fi

# ---------------------------------------------------------------------- generation, networks

made=(--puzzles 131072 --repeat 2)
looks=(--batch 32,1024,8192 --dtype float32,bfloat16 --repeat 3)
if [[ -n $QUICK ]]; then
  made=(--puzzles 256 --repeat 1)
  looks=(--networks cube --batch 32 --repeat 1)
fi
timed generation 90 30 benchmarks/generation.py "${made[@]}" --json "$OUT/generation.json"
timed networks 120 30 benchmarks/networks.py "${looks[@]}" --json "$OUT/networks.json"

# ---------------------------------------------------------------------- all in one table

say "all figures"
shopt -s nullglob
files=("$OUT"/gpu-*.json)
if ((${#files[@]})); then
  "$PYTHON" benchmarks/report.py "${files[@]}" || true
fi
printf '%s\n' "${troubles[@]/#/TROUBLE: }"
echo "$SECONDS s altogether; raw figures in $OUT/gpu-*.json"
((${#troubles[@]} == 0))
