"""A search tree that is kept: its counts, its guesses, training during play, and its files."""

from __future__ import annotations

import collections
import json
import math

import mastermind_reference as reference
import numpy as np
import pytest

import jaxsudoku.mastermind as mm

GAME = mm.PegGame(3, 3)


def trained(iterations=300, **options):
    tree = mm.SearchTree(GAME, **options)
    tree.train(iterations)
    return tree


def edges(tree):
    """The visits and totals of every guess in the tree, by the guesses and feedbacks before it."""
    found = {}

    def walk(node, answers):
        for place in np.flatnonzero(node.visits):
            guess = int(node.possible[place])
            found[(*answers, guess)] = int(node.visits[place]), int(node.totals[place])
            for (of, feedback), child in node.children.items():
                if of == place:
                    walk(tree._nodes[child], (*answers, guess, feedback))

    walk(tree._nodes[0], ())
    return found


def test_visits_add_up_and_totals_are_numbers_of_guesses():
    tree = trained()
    found = edges(tree)
    assert tree.iterations == sum(visits for path, (visits, _) in found.items() if len(path) == 1) == 300
    for path, (visits, total) in found.items():
        below = [counts for longer, counts in found.items() if len(longer) == len(path) + 2 and longer[:-2] == path]
        # a game ends here, is continued by a rollout once for each new position, or goes on below
        assert sum(counts[0] for counts in below) <= visits
        assert visits <= total <= visits * GAME.size
    every = reference.codes(GAME)
    for node in tree._nodes[1:]:
        assert 0 < len(node.possible) < GAME.size
    for path in found:
        for guess, feedback in zip(path[:-1:2], path[1::2], strict=True):
            heard = reference.feedback(every[guess], every[path[-1]])
            assert GAME.pairs[feedback] == heard, "only codes that may be the secret are guessed"


def test_guesses_have_their_counts():
    tree = trained()
    found = edges(tree)
    longer = next(path for path in found if len(path) == 3)
    for answers in [(), (longer[:2],)]:
        codes, visits, totals = tree.counts(answers)
        path = tuple(number for answer in answers for number in answer)
        assert len(codes) and visits.sum() > 0
        for code, counts in zip(codes.tolist(), zip(visits.tolist(), totals.tolist(), strict=True), strict=True):
            assert counts == found.get((*path, code), (0, 0))
        visits[:] = 0  # a copy
    assert edges(tree) == found


def test_one_call_does_what_two_do():
    once, twice = trained(50), trained(20)
    twice.train(30)
    assert edges(once) == edges(twice)
    assert edges(trained(50, seed=1)) != edges(once)


def test_more_training_finds_better_guesses():
    def mean(simulations, **options):
        return mm.build(mm.PegGame(3, 4), "persistent-uct", simulations=simulations, **options).mean

    untrained, well = mean(1), mean(2500)
    assert well < untrained - 0.1
    assert mean(1, during=30) < untrained


def test_every_secret_is_found_while_it_trains_on():
    tree = trained(20)
    policy = tree.policy(during=5)
    for secret in range(0, GAME.size, 5):
        breaker, maker = mm.CodeBreaker(GAME, policy), mm.CodeMaker(GAME, secret)
        while not breaker.over:
            guess = breaker.guess()
            breaker.update(guess, maker.answer(guess))
        assert breaker.answers[-1][0] == secret
    assert tree.iterations > 20


def test_a_saved_tree_goes_on_as_if_it_had_been_kept(tmp_path):
    tree, path = trained(120), tmp_path / "tree.json"
    tree.save(path)
    loaded = mm.SearchTree.load(path)
    assert (loaded.game, loaded.exploration, loaded.iterations) == (GAME, math.sqrt(2), 120)
    for one in (tree, loaded):
        one.train(80)
    assert edges(loaded) == edges(tree) == edges(trained(200))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda fields: fields.update(iterations=7), "checksum"),
        (lambda fields: fields.update(format="something"), "its format is not"),
        (lambda fields: fields.pop("checksum"), "checksum"),
    ],
)
def test_altered_files_are_refused(tmp_path, change, message):
    path = tmp_path / "tree.json"
    trained(10).save(path)
    fields = json.loads(path.read_text())
    change(fields)
    path.write_text(json.dumps(fields))
    with pytest.raises(mm.SearchTreeError, match=rf"tree\.json: not a search tree: .*{message}"):
        mm.SearchTree.load(path)


def test_the_tree_is_drawn():
    tree = trained()
    lines = tree.draw(guesses=2, width=2).splitlines()
    assert lines[0] == f"3 pegs, 3 colours: 300 simulations, {len(tree):,} positions"
    best = int(tree._nodes[0].possible[np.argmax(tree._nodes[0].visits)])
    visits, total = edges(tree)[(best,)]
    assert lines[1] == f"{GAME.code_text(best)}  {visits} visits, {total} guesses, mean {total / visits:.2f}"
    assert any(line.startswith("  ") and line.endswith("possible") for line in lines)
    drawn = [tree.draw(guesses=guesses).splitlines()[1:] for guesses in (1, 2, 3)]
    depths = [max(len(line) - len(line.lstrip()) for line in some) for some in drawn]
    assert depths[:2] == [0, 4] and depths[2] > 4


def test_feedbacks_have_their_visits_and_frequencies():
    steps: collections.Counter[tuple[int, int, int]] = collections.Counter()

    class Counted(mm.SearchTree):
        def _child(self, at, place, feedback):
            steps[at, place, feedback] += 1
            return super()._child(at, place, feedback)

    tree, codes = Counted(GAME), reference.codes(GAME)
    tree.train(900)
    for at, node in enumerate(tree._nodes):
        for place in np.flatnonzero(node.visits).tolist():
            parts = tree._parts(node, place)
            guess = codes[node.possible[place]]
            heard = collections.Counter(reference.feedback(guess, codes[code]) for code in node.possible)
            assert {GAME.pairs[feedback]: len(part.possible) for feedback, _, part in parts} == heard
            on = {feedback: steps[at, place, feedback] for feedback, _, _ in parts if feedback != GAME.win}
            won = int(node.visits[place]) - sum(on.values())
            assert {feedback: reached for feedback, reached, _ in parts} == on | {GAME.win: won}
            assert [reached for _, reached, _ in parts] == sorted([*on.values(), won], reverse=True)
    (best, *_), lines = tree._parts(tree._nodes[0], int(tree._nodes[0].visits.argmax())), tree.draw().splitlines()
    feedback, reached, part = best
    assert lines[2] == (
        f"  {GAME.feedback_text(feedback)}  {reached} visits, frequency {len(part.possible) / GAME.size:.3f}, "
        f"{len(part.possible)} possible"
    )


def test_training_during_play_leaves_the_visits_of_feedbacks_above_it(tmp_path):
    tree = trained(50)
    guess = tree.guess()
    before = list(tree._rows(1, 99, False))
    heard = [row for row in tree._rows(2, 99, True) if row[0] == 1]
    tree.train(40, [(guess, 0)])
    assert list(tree._rows(1, 99, False)) == before
    assert sorted(row for row in tree._rows(2, 99, True) if row[0] == 1) == sorted(heard)
    tree.save(tmp_path / "tree.json")
    assert mm.SearchTree.load(tmp_path / "tree.json").draw(9, 99, True) == tree.draw(9, 99, True)


def test_what_no_simulation_reached_is_drawn_on_request():
    tree = trained(20)
    assert " 0 visits" not in tree.draw(9, 99)
    whole = tree.draw(9, 99, unvisited=True).splitlines()
    assert sum(not line.startswith(" ") for line in whole[1:]) == GAME.size
    assert any(line.startswith("  ") and " 0 visits, frequency" in line for line in whole)
    assert any(line.startswith("    ") and line.endswith(" 0 visits, 0 guesses") for line in whole)
    for name in ("guesses", "width"):
        with pytest.raises(ValueError, match=f"{name} must be at least 1, not 0"):
            tree.draw(**{name: 0})


def test_the_picture_has_the_rows_of_the_text():
    tree = trained()
    texts = [shape.text for shape in tree.picture(2, 2).shapes if shape.role == "text"]
    assert [line.split("  ")[-1] for line in tree.draw(2, 2).splitlines()[1:]] == texts
    cut = tree.picture(9, 99, unvisited=True, most=5)
    left = len(tree.draw(9, 99, unvisited=True).splitlines()) - 6
    assert cut.shapes[-1].text == f"{left:,} further nodes of these levels are not drawn"
    assert tree._repr_svg_() == tree.picture().svg


def test_answers_that_fit_no_code_are_refused():
    tree = trained(10)
    with pytest.raises(ValueError, match="no code fits"):
        tree.train(1, [(0, GAME.pairs.index((2, 0))), (1, GAME.pairs.index((0, 0)))])
    with pytest.raises(ValueError, match="111 does not fit the answers before it"):
        tree.guess([(0, 0), (0, 0)])
    with pytest.raises(ValueError, match="iterations must be at least 1"):
        tree.train(0)
