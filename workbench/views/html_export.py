"""One self-contained HTML file: style, script, data and all answers inside; no network.

The same ES module that runs in a notebook runs here, with a model that answers from a table.
Below it, for readers without script, the static view.  Equal input gives equal bytes: nothing of
the time, the machine or the process gets in.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from .panel import Data, Panel, quiet
from .part import Part
from .render_html import fragment, style

#: Texts of answers from this length on are kept once, however many answers hold them.
LONG_TEXT = 400

_BOOT = """
const wbPacked = Uint8Array.from(atob(document.getElementById("wb-data").textContent), (c) => c.charCodeAt(0));
const wbStream = new Blob([wbPacked]).stream().pipeThrough(new DecompressionStream("gzip"));
const [wbPages, wbTexts] = await new Response(wbStream).json();
const wbCopy = (x) => JSON.parse(JSON.stringify(x));
for (const [i, page] of wbPages.entries()) {
  const el = document.getElementById("wb-live-" + i);
  const heard = [];
  const model = {
    get: (key) => page[key], set() {}, save_changes() {},
    on(event, f) { if (event === "msg:custom") heard.push(f); },
    off() { heard.length = 0; },
    send(message) {
      const key = wbKey(message.op, message.args);
      const reply = page.replies[key];
      const error = "This needs a running kernel: open it in the notebook.";
      const answer = reply === undefined ? { id: message.id, error } : { id: message.id, reply: wbCopy(reply) };
      for (const [name, at] of Object.entries(answer.reply?.texts ?? {})) answer.reply[name] = wbTexts[at];
      queueMicrotask(() => heard.forEach((f) => f(answer)));
    },
  };
  WB_RENDER[page.module]({ model, el });
  document.getElementById("wb-static-" + i).hidden = true;
}
"""  # noqa: E501 - script text

_PAGE_STYLE = """
body{margin:0;padding:16px;background:#fff;color:#1f2328;font-family:system-ui,sans-serif}
@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}}
main{max-width:1400px;margin:0 auto}section{margin:0 0 28px}h1{font-size:21px}
body section.wb{padding:0;background:transparent}
"""


def request_key(op: str, args: Data) -> str:
    """The key of a request in the table of answers; the page computes the same."""
    return op + ":" + json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def replies(panel: Panel) -> dict[str, Data]:
    """The answers to everything that `panel.requests()` lists."""
    return {request_key(op, args): panel.answer(op, args, quiet()) for op, args in panel.requests()}


def packed(pages: Sequence[Data]) -> str:
    """The data of the live parts: long texts once, all compressed; the same for the same input."""
    texts: dict[str, int] = {}
    for page in pages:
        for reply in page["replies"].values():
            long = [k for k, v in reply.items() if isinstance(v, str) and len(v) > LONG_TEXT]
            if long:
                reply["texts"] = {k: texts.setdefault(reply.pop(k), len(texts)) for k in long}
    data = json.dumps([pages, list(texts)], sort_keys=True, ensure_ascii=False)
    return base64.b64encode(gzip.compress(data.encode(), 9, mtime=0)).decode("ascii")


def html_page(
    title: str,
    sections: Sequence[tuple[str, Part | Panel]],
    script_of: Callable[[str], str],
    panel_style: str = "",
    shared: str = "",
) -> str:
    """A whole HTML page.

    Parameters
    ----------
    title: of the page.
    sections: (heading, view) pairs; a `Panel` is live, a `Part` is static.
    script_of: gives the ES module text of a panel module; it ends in `export default { render };`.
    panel_style, shared: the style sheet of the panels, and the script that all modules share.
    """
    body: list[str] = []
    pages: list[Data] = []
    for name, view in sections:
        head = f"<h2>{escape(name)}</h2>" if name else ""
        if isinstance(view, Part):
            body.append(f'<section class="wb wb-auto">{head}{fragment(view)}</section>')
            continue
        number = len(pages)
        pages.append(
            {
                "module": view.module,
                "pure": sorted(view.pure),
                "offline": True,
                "title": view.title,
                "data": view.data(),
                "replies": replies(view),
            }
        )
        body.append(
            f'<section class="wb wb-auto">{head}<div id="wb-live-{number}"></div>'
            f'<div id="wb-static-{number}">{fragment(view.static())}</div></section>'
        )
    script = ""
    if pages:
        used = sorted({page["module"] for page in pages})
        modules = "\n".join(
            f"WB_RENDER.{one} = (() => {{\n{_body(script_of(one))}\nreturn render;\n}})();"
            for one in used
        )
        script = (
            f'<script type="application/octet-stream" id="wb-data">{packed(pages)}</script>'
            '<script type="module">\nconst WB_RENDER = {};\n'
            f"{shared}\n{modules}\n{_BOOT}</script>"
        )
    # A widget that is alone on its page has the title in its own frame.
    alone = len(sections) == 1 and not sections[0][0] and pages and pages[0]["title"] == title
    heading = "" if alone else f"<h1>{escape(title)}</h1>"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style()}{panel_style}{_PAGE_STYLE}</style></head>"
        f"<body><main>{heading}{''.join(body)}</main>{script}</body></html>\n"
    )


def _body(module: str) -> str:
    """An ES module as the body of a function: without its one export."""
    text = module.rstrip()
    ending = "export default { render };"
    if not text.endswith(ending):
        raise ValueError(f"a panel module must end in {ending!r}")
    return text[: -len(ending)]


def write_page(path: str | Path, text: str) -> Path:
    """Write a page as UTF-8 with "\\n" line ends; returns the path."""
    target = Path(path)
    target.write_text(text, encoding="utf-8", newline="\n")
    return target
