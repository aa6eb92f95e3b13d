"""Formulas as MathML, made when the site is built: browsers show it by themselves, without a script from elsewhere."""

import html
import re

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves of `$...$` and `$$...$$`.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(page_html, **_):
    """mkdocs calls this with the HTML of every page."""
    return FORMULA.sub(_mathml, page_html)


def _mathml(match):
    formula = html.unescape(match[3]).replace(r"\arg", r"\operatorname{arg}")
    return convert(formula, display="block" if match[2] == "[" else "inline")
