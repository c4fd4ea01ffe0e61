"""``jaxsudoku completion``: scripts that are valid, and complete commands, flags, choices and shipped puzzles."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys

import pytest

from jaxsudoku import shipped, solvers
from jaxsudoku.cli import main, make_parser
from jaxsudoku.mastermind import PLAYERS

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module")
def scripts():
    """The script of each shell."""
    pytest.importorskip("shtab")
    from jaxsudoku.cli import completion

    return {shell: completion.script(make_parser(), shell) for shell in SHELLS}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_has_commands_flags_and_choices(scripts, shell):
    script = scripts[shell]
    fields = {field.name for solver in solvers.SOLVERS.values() for field in dataclasses.fields(solver.config)}
    flags = {name.replace("_", "-") for name in (*fields, "output", "batch_size", "clues", "searches", "plies")}
    missing = [flag for flag in flags if (f"-l {flag}" if shell == "fish" else f"--{flag}") not in script]
    assert not missing
    words = ("mastermind", "evaluate", *solvers.SOLVERS, *PLAYERS, *shipped.names(), "parquet")
    assert not [word for word in words if word not in script]
    assert "none naked singles locked" in script or "naked singles locked none" in script


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_valid(scripts, shell, tmp_path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not here")
    path = tmp_path / "script"
    path.write_text(scripts[shell])
    result = subprocess.run([program, "-n", str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["sol"], {"solve"}),
        (["solve", "x", "--bud"], {"--budget"}),
        (["solve", "x", "--solver", "one"], {"one-shot"}),
        (["solve", "x", "--rules", "no"], {"none"}),
        (["solve", "9x9-h"], {name for name in shipped.names() if name.startswith("9x9-h")}),
        (["mastermind", "evaluate", "--player", "min"], {"minimax"}),
        (["completion", "b"], {"bash"}),
    ],
)
def test_bash_completes(scripts, tmp_path, words, completed):
    path = tmp_path / "script"
    path.write_text(scripts["bash"])
    line = " ".join(f"'{word}'" for word in ["jaxsudoku", *words])
    program = f"""
source {path}
COMP_WORDS=({line}); COMP_CWORD={len(words)}
_shtab_jaxsudoku jaxsudoku '{words[-1]}' ''
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    result = subprocess.run(
        ["bash", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert set(result.stdout.split()) == completed


def test_the_command_prints_a_script(capsysbinary, scripts):
    assert main(["completion", "bash"]) == 0
    assert capsysbinary.readouterr().out.decode() == f"{scripts['bash']}\n"


def test_another_shell_is_an_error(capsys):
    with pytest.raises(SystemExit):
        main(["completion", "bsh"])
    assert "invalid choice: 'bsh'" in (message := capsys.readouterr().err)
    assert "did you mean 'bash'?" in message


def test_a_missing_library_is_named_by_its_extra(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    cause = "completion needs shtab: pip install 'jaxsudoku[completion]'"
    assert capsys.readouterr().err == f"jaxsudoku: error: {cause}\n"
