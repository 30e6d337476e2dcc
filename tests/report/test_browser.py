"""The page in a real browser, on a desk and on a phone, light and dark: it fits, is quiet, and asks for nothing."""

import json
import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="needs a browser: chromium and chromedriver (apt install chromium-driver)",
)
WIDTHS = {"phone": 390, "desk": 1200}


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield browser
    browser.quit()


@pytest.fixture(params=["page", "comparison"])
def url(request, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(request.getfixturevalue(request.param), encoding="utf-8")
    return path.as_uri()


def look(browser, url, *, width=1200, dark=False, paper=False):
    """Open the page anew, as such a reader sees it."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print" if paper else "", "features": [scheme]})
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # what was said of the page before
    browser.get(url)


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_fits_and_is_quiet(browser, url, width, dark):
    look(browser, url, width=width, dark=dark)
    scroll, client = (browser.execute_script(f"return document.documentElement.{w}Width") for w in ("scroll", "client"))
    assert scroll <= client <= width
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [one for one in asked if not one.startswith("data:")] == [url]


@pytest.mark.parametrize(("name", "shown"), [("phone", "narrow"), ("desk", "wide")])
def test_figures_fit_the_screen(browser, url, name, shown):
    look(browser, url, width=WIDTHS[name])
    seen = browser.execute_script(
        "return [...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width > 0)"
        ".map(s => [s.getAttribute('class'), s.getBoundingClientRect().right, s.getBoundingClientRect().width,"
        " s.viewBox.baseVal.width])"
    )
    assert seen
    assert {kind for kind, *_ in seen} <= {shown, "both"}
    for _, right, width, drawn in seen:
        assert right <= WIDTHS[name]
        assert width >= 0.85 * drawn  # letters of 12 px stay above 10


def luminance(colour):
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def colour_of(browser, selector, what):
    script = f"return getComputedStyle(document.querySelector('{selector}'))['{what}']"
    return luminance(browser.execute_script(script))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_colours_follow_the_reader_and_can_be_read(browser, url, dark):
    look(browser, url, dark=dark)
    paper, card = colour_of(browser, "body", "backgroundColor"), colour_of(browser, "section", "backgroundColor")
    assert (paper < 0.1) == dark
    for selector, what in (
        ("h1", "color"),
        ("section > h2", "color"),
        (".lead", "color"),
        ("svg .tick", "fill"),
        ("svg .soft", "fill"),
    ):
        text = colour_of(browser, selector, what)
        contrast = (max(text, card) + 0.05) / (min(text, card) + 0.05)
        assert contrast >= 4.5, (selector, contrast)


def test_hostile_names_do_nothing(browser, url):
    look(browser, url)
    assert browser.execute_script("return document.querySelectorAll('script, img, b > *').length") == 0
    with pytest.raises(Exception, match="no such alert"):
        browser.switch_to.alert.accept()


def test_on_paper_it_is_light_and_has_pages(browser, url):
    look(browser, url, dark=True, paper=True)
    assert colour_of(browser, "body", "backgroundColor") > 0.9
    assert colour_of(browser, "h1", "color") < 0.1
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    assert len(printed) > 10_000
