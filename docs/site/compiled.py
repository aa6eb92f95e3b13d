"""Docstrings for the reference: those of the compiled module, and all of them in the markup of the guide's pages.

The stubs of the compiled module have the signatures, the module itself has the text. Formulas and code in docstrings
are marked up for Python's documentation tools.
"""

import importlib
import inspect
import re

import griffe

COMPILED = "_native"
INLINE = re.compile(r":math:`([^`]+)`")
DISPLAYED = re.compile(r"^\.\. math:: (.+)$", re.MULTILINE)


class CompiledDocstrings(griffe.Extension):
    """Fills the docstrings of classes, methods and functions that were read from stubs."""

    def on_package(self, *, pkg, **_):
        """griffe calls this when a package has been read."""
        if COMPILED in pkg.members:
            _fill(pkg.members[COMPILED], importlib.import_module(f"{pkg.path}.{COMPILED}"))


class Markup(griffe.Extension):
    """Writes formulas between dollars, and one colon before indented code."""

    def on_object(self, *, obj, **_):
        """griffe calls this with every object that has been read."""
        if obj.docstring is not None:
            text = INLINE.sub(r"$\1$", obj.docstring.value)
            text = DISPLAYED.sub(r"$$ \1 $$", text)
            obj.docstring.value = text.replace("::\n\n    ", ":\n\n    ")


def _fill(documented, compiled):
    for name, member in documented.members.items():
        found = getattr(compiled, name, None)
        # The constructor's text is that of its class.
        if found is None or member.is_alias or name.startswith("__"):
            continue
        text = inspect.getdoc(found)
        if text and (member.is_class or member.is_function or member.is_attribute):
            member.docstring = griffe.Docstring(text, parent=member, parser="numpy")
        if member.is_class:
            _fill(member, found)
