"""The README as package indexes show it, which resolve no relative links.

hatchling calls this when it builds the metadata. In pyproject.toml, ``[tool.hatch.metadata.hooks.custom]``,
``repository = "https://..."`` is the one line that says where the project is hosted. From it follow the project's URLs
and absolute links and images. Without it relative links and images become plain text, with the path of the file in the
source distribution.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_IMAGE = r"!\[[^\]]*\]\([^)\s]+\)"

#: What is looked at, whichever begins first: code, which stays as it is; images; links, whose label may be an image.
_MARKDOWN = re.compile(
    r"(?P<code>^(?P<fence>`{3,}).*?^(?P=fence)|(?P<ticks>`+)[^`].*?(?<!`)(?P=ticks)(?!`))"
    r"|!\[(?P<alt>[^\]]*)\]\((?P<source>[^)\s]+)\)"
    rf"|\[(?P<label>(?:{_IMAGE}|[^\[\]])+)\]\((?P<target>[^)\s]+)\)",
    re.MULTILINE | re.DOTALL,
)

#: Relative addresses in forms that are not made absolute: links with titles, definitions of links, HTML.
_REFUSED = re.compile(
    r"\]\((?!\w+:)[^)]*\s[^)]*\)|^ {0,3}\[[^\]]+\]: *(?!\w+:)\S+|<[^>]*\b(?:src|srcset|href)=[\"']?(?!\w+:)[^>]*>",
    re.MULTILINE,
)


def with_absolute_links(text: str, repository: str) -> str:
    """Markdown whose relative links and images lead to the repository, or are plain text if there is none.

    Args:
      text: the Markdown.
      repository: the address of the repository, "" if there is none.

    Raises:
      ValueError: a relative address in a link with a title, in the definition of a link, or in HTML.
    """
    repository = repository.rstrip("/")

    def plain(label: str, path: str) -> str:
        if path.startswith("#"):
            return label
        return f"`{path}`" if path.startswith(label.strip("`")) else f"{label} (`{path}`)"

    def changed(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        if match["source"]:
            alt, source = match["alt"], match["source"]
            if re.match(r"\w+:", source):
                return match[0]
            return f"![{alt}]({repository}/raw/main/{source})" if repository else plain(alt, source)
        label, target = _MARKDOWN.sub(changed, match["label"]), match["target"]
        if re.match(r"\w+:", target):
            return f"[{label}]({target})"
        if not repository:
            return plain(label, target)
        return f"[{label}]({repository}{'' if target.startswith('#') else '/blob/main/'}{target})"

    without_code = _MARKDOWN.sub(lambda match: "" if match["code"] else match[0], text)
    if (refused := _REFUSED.search(without_code)) is not None:
        raise ValueError(f"README.md: {refused[0]!r}: write a relative link or image as [text](path) or ![text](path)")
    return _MARKDOWN.sub(changed, text)


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
