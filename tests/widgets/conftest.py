"""Bare-page tests: the real ES module, a real panel, and a model of a few lines between them."""

import sys
from pathlib import Path

import pytest

from workbench.views.panel import Cancelled, Progress
from workbench.widgets.assets import css, esm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

# Messages go to Python through `wbSend`; what Python answers comes back as "msg:custom".
MODEL = """
window.heard = [];
window.mount = (el) => {
  const values = JSON.parse(document.getElementById("values").textContent);
  const model = {
    get: (k) => values[k], set() {}, save_changes() {},
    on: (e, f) => { if (e === "msg:custom") window.heard.push(f); },
    off: (e, f) => { window.heard = window.heard.filter((g) => g !== f); },
    send: (m) => window.wbSend(JSON.stringify(m)).then(
      (rs) => rs.forEach((r) => window.heard.forEach((f) => f(r)))),
  };
  return window.module.render({ model, el });
};
"""


class Mounted:
    """A widget in a page, and the requests that it made."""

    def __init__(self, page, panel):
        self.page = page
        self.panel = panel
        self.requests = []
        self.keys_outside = []

    def serve(self, message):
        import json

        message = json.loads(message)
        self.requests.append((message["op"], message["args"]))
        out = []
        said = lambda share, text: out.append(
            {"id": message["id"], "progress": share, "text": text}
        )
        try:
            answer = self.panel.answer(
                message["op"], message["args"], Progress(said, lambda: False)
            )
        except Cancelled:
            out.append({"id": message["id"], "error": "stopped"})
        except Exception as error:
            out.append({"id": message["id"], "error": str(error), "detail": "trace"})
        else:
            out.append({"id": message["id"], "reply": answer})
        return json.loads(json.dumps(out))

    def said(self):
        return self.page.locator(".wb-live").inner_text()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)


@pytest.fixture
def mount(browser):
    """mount(panel, dark=False, width=1100) -> Mounted"""
    import json

    pages = []

    def make(panel, dark=False, width=1100, offline=False):
        page = browser.new_page(viewport={"width": width, "height": 800})
        pages.append(page)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        mounted = Mounted(page, panel)
        mounted.errors = errors
        page.expose_function("wbSend", mounted.serve)
        page.expose_function("wbOutside", lambda key: mounted.keys_outside.append(key))
        values = {
            "data": panel.data(),
            "title": panel.title,
            "pure": sorted(panel.pure),
            "offline": offline,
        }
        text = json.dumps(values).replace("<", "\\u003c")
        assert len(text) < 1_000_000, "a message to the browser may have a megabyte at most"
        theme = "false" if dark else "true"
        page.set_content(
            f"<!DOCTYPE html><style>{css()}</style>"
            f"<body data-jp-theme-light={theme} style='background:{'#111' if dark else '#fff'}'>"
            f"<script type='application/json' id='values'>{text}</script><div id='host'></div>"
            "<button id='after'>after</button></body>"
        )
        module = esm(panel.module).replace("export default {", "window.module = {")
        page.evaluate("document.addEventListener('keydown', (e) => window.wbOutside(e.key))")
        page.evaluate(f"() => {{ {module}\n{MODEL}\n }}")
        page.evaluate(
            "() => { window.close_widget = window.mount(document.getElementById('host')); }"
        )
        return mounted

    yield make
    for page in pages:
        page.close()
