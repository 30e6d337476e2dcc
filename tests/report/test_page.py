"""The page: complete, self-contained, well-formed, and deaf to what names say."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from frugalforest.report import fit_page


class Reader(HTMLParser):
    """Tags and attributes of a page, and whether every tag is closed."""

    EMPTY = ("meta", "link")

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(params=["page", "comparison"])
def any_page(request):
    return request.getfixturevalue(request.param)


def test_every_tag_is_closed(any_page):
    assert Reader(any_page).open == []


def test_nothing_comes_from_elsewhere_and_nothing_runs(any_page):
    reader = Reader(any_page)
    assert not {"script", "img", "iframe", "object", "embed", "form", "b>yes"} & set(reader.tags)
    assert not [name for name, _ in reader.attributes if name.startswith("on") or name in ("src", "srcset", "action")]
    links = [value for name, value in reader.attributes if name == "href"]
    assert links == ["data:,"]  # an empty icon, so that browsers do not ask for one
    assert not re.search(r"https?:|url\(|@import", any_page)
    assert "default-src 'none'" in any_page


def test_names_are_shown_as_they_are(page):
    text = Reader(page).text
    for name in ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "<b>yes</b>", "no & never"):
        assert name in text


def figures(page):
    return re.findall(r"<svg.*?</svg>", page, re.S)


def test_figures_are_drawings_with_a_text(any_page):
    found = figures(any_page)
    assert found
    ids = re.findall(r' id="([^"]+)"', any_page)
    assert len(ids) == len(set(ids))
    for svg in found:
        tree = ET.fromstring(svg)
        assert tree.attrib["role"] == "img"
        for name in tree.attrib["aria-labelledby"].split():
            assert name in ids
        assert len(tree.find("desc").text) > 40


def test_coordinates_are_numbers_inside_the_figure(any_page):
    for svg in figures(any_page):
        tree = ET.fromstring(svg)
        width, height = (float(tree.attrib[name]) for name in ("width", "height"))
        for shape in tree.iter():
            for name, limit in (
                ("x", width),
                ("cx", width),
                ("x1", width),
                ("y", height),
                ("cy", height),
                ("y2", height),
            ):
                if name in shape.attrib:
                    assert -1 <= float(shape.attrib[name]) <= limit + 1
            assert "nan" not in shape.attrib.get("d", "")


def test_what_is_on_it(page, measured):
    for heading in (
        "What does a better answer cost?",
        "Who pays what",
        "What is bought, in which order",
        "What a feature is worth, and what it costs",
        "What is confused with what",
        "Do probabilities mean what they say?",
        "Data and settings",
        "Use the model",
    ):
        assert f"<h2>{heading}</h2>" in page
    assert f"{measured.error:.1%}" in page
    assert f"{measured.cost:,.2f}" in page


def test_the_same_model_gives_the_same_page(fitted, measured):
    model, X, _ = fitted
    options = {
        "title": "t",
        "settings": {},
        "budget": None,
        "method": "m",
        "trials": [],
        "model_file": "m.ff",
        "seed": 3,
    }
    assert fit_page(model, measured, X, **options) == fit_page(model, measured, X, **options)


def test_a_model_that_buys_nothing(fitted):
    import warnings

    from frugalforest.report import Measured

    model, X, y = fitted
    with warnings.catch_warnings(action="ignore"):
        free = model.at_budget(0)
    options = {
        "title": "t",
        "settings": {},
        "budget": 0.0,
        "method": "m",
        "trials": [],
        "model_file": "m.ff",
        "seed": 3,
    }
    page = fit_page(free, Measured.of(free, X, y), X, **options)
    assert "It buys nothing" in page
    assert Reader(page).open == []
