"""Boards, grids and candidates: layouts, rules and their fixpoint, branching, the environment of tree searches."""
