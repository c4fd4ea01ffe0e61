"""A page of HTML in one file: it loads nothing, and the reader's browser is told to let it load nothing."""

from __future__ import annotations

from jaxsudoku.runtime.escapes import markup

_STYLE = (
    ":root{color-scheme:light dark}"
    "body{margin:0 auto;padding:1rem;max-width:82rem;font-family:system-ui,sans-serif;line-height:1.45;"
    "background:#fff;color:#20242a}"
    "h1{font-size:1.4rem;margin:0 0 .5rem;overflow-wrap:anywhere}"
    "@media(prefers-color-scheme:dark){body{background:#1b1d21;color:#e4e7ec}}"
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(title: str, body: str, heading: bool = True) -> str:
    """A page.

    Args:
      title: its title, as text.
      body: what it shows, as HTML.
      heading: whether the title stands above that.
    """
    head = f"<h1>{markup(title)}</h1>" if heading else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{markup(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" '
        f'content="{_POLICY}"><style>{_STYLE}</style></head><body><main>{head}{body}</main></body></html>\n'
    )
