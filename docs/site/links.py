"""Links to folders: repositories show a folder's README by themselves, the site needs its name."""

import re

FOLDER = re.compile(r"(\]\((?![a-z]+:|/)[^)\s#]*/)\)")


def on_page_markdown(markdown, **_):
    """mkdocs calls this with the source of every page."""
    return FOLDER.sub(r"\1README.md)", markdown)
