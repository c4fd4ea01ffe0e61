"""The README as package indexes show it: links that work there, which relative ones do not.

hatchling calls this when it builds the metadata. In pyproject.toml, ``[tool.hatch.metadata.hooks.custom]``,
``repository = "https://..."`` is the one line that says where the project is hosted. From it follow the project's URLs
and absolute links. Without it relative links become plain text, the path of the file in the source distribution, and
images are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE_IMAGE = re.compile(r"!\[([^\]\n]*)\]\((?!\w+:)([^)\n]+)\)\n*")
_RELATIVE_LINK = re.compile(r"\[([^\]\n]+)\]\((?!\w+:|#)([^)\n]+)\)")


def with_absolute_links(text: str, repository: str) -> str:
    """Markdown whose relative links and images lead to the repository.

    If there is none, links are plain text, and images are left out.
    """

    def image(match: re.Match[str]) -> str:
        return f"![{match[1]}]({repository.rstrip('/')}/raw/main/{match[2]})\n\n" if repository else ""

    def link(match: re.Match[str]) -> str:
        label, path = match[1].strip("`"), match[2]
        if repository:
            return f"[{match[1]}]({repository.rstrip('/')}/blob/main/{path})"
        return f"`{path}`" if path.startswith(label) else f"{match[1]} (`{path}`)"

    return _RELATIVE_LINK.sub(link, _RELATIVE_IMAGE.sub(image, text))


class CustomMetadataHook(MetadataHookInterface):
    """Sets ``readme`` and ``urls``, which pyproject.toml names as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = self.config.get("repository", "")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_absolute_links(text, repository)}
        metadata["urls"] = (
            {
                "Repository": repository,
                "Documentation": f"{repository}/tree/main/docs",
                "Changelog": f"{repository}/blob/main/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
            if repository
            else {}
        )
