// Helpers that every widget module shares; put in front of it when it is loaded.
// Keys never bind on `document`; the root keeps JupyterLab's shortcuts away from what is inside.

function wbEl(tag, attrs = {}, ...kids) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "html") node.innerHTML = value; // only markup made by workbench.views
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...kids.filter((kid) => kid !== null && kid !== undefined));
  return node;
}

// The same text as request_key() in html_export.py.
function wbKey(op, args) {
  const sorted = (x) =>
    x && typeof x === "object" && !Array.isArray(x)
      ? Object.fromEntries(Object.keys(x).sort().map((k) => [k, sorted(x[k])]))
      : Array.isArray(x) ? x.map(sorted) : x;
  return op + ":" + JSON.stringify(sorted(args ?? {}));
}

// Requests to the kernel.  Answers of pure operations are kept, each text travels once.
function wbClient(model) {
  const pure = new Set(model.get("pure") ?? []);
  const kept = new Map();
  const waiting = new Map();
  let last = 0;
  const listen = (message) => {
    const request = waiting.get(message?.id);
    if (!request) return;
    if ("progress" in message) return request.progress?.(message.progress, message.text ?? "");
    waiting.delete(message.id);
    if ("error" in message) request.fail(Object.assign(new Error(message.error), { detail: message.detail ?? "" }));
    else request.done(message.reply);
  };
  model.on("msg:custom", listen);
  return {
    ask(op, args = {}, progress = null) {
      const key = wbKey(op, args);
      if (kept.has(key)) return kept.get(key);
      const id = ++last;
      const answer = new Promise((done, fail) => waiting.set(id, { done, fail, progress }));
      answer.request = id;
      if (pure.has(op)) {
        kept.set(key, answer);
        answer.catch(() => kept.delete(key));
      }
      model.send({ id, op, args });
      return answer;
    },
    cancel(id) { model.send({ id, op: "cancel", args: {} }); },
    close() { model.off("msg:custom", listen); waiting.clear(); kept.clear(); },
  };
}

// The frame of a widget: title, toolbar, body, live region, keys with their list.
function wbRoot(el, model, keys) {
  const title = model.get("title") ?? "Workbench";
  const live = wbEl("div", { class: "wb-live", "aria-live": "polite", role: "status" });
  const tools = wbEl("div", { class: "wb-tools", role: "toolbar", "aria-label": title + " tools" });
  const body = wbEl("div", { class: "wb-body" });
  const list = wbEl("div", { class: "wb-help", hidden: true, role: "dialog", "aria-label": "Keys" });
  const root = wbEl("div", {
    class: "wb wb-widget" + (model.get("offline") ? " wb-auto" : ""), tabindex: "0", role: "group", "aria-label": title,
    "data-lm-suppress-shortcuts": "true",
  }, wbEl("div", { class: "wb-head" }, wbEl("strong", { class: "wb-title" }, title), tools), list, body, live);
  const rows = [...keys, ["?", "list of keys"], ["Escape", "give the focus back"]];
  list.append(wbEl("table", { class: "wb-table" }, ...rows.map(([key, text]) =>
    wbEl("tr", {}, wbEl("td", {}, wbEl("kbd", {}, key)), wbEl("td", {}, text)))));
  const actions = new Map();
  const help = () => { list.hidden = !list.hidden; };
  tools.append(wbEl("button", { type: "button", class: "wb-btn", title: "Keys (?)", "aria-label": "List of keys", onclick: help }, "?"));
  root.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input,select,textarea");
    const chord = (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + (event.shiftKey && event.key.length > 1 ? "Shift+" : "") +
      (event.shiftKey && event.ctrlKey && event.key.length === 1 ? "Shift+" : "") +
      (event.key.length === 1 && event.ctrlKey ? event.key.toUpperCase() : event.key);
    if (event.key === "Tab") return;
    // Plain keys belong to the widget alone: outside, "d d" would delete the cell.
    if (!(event.ctrlKey || event.metaKey || event.altKey)) event.stopPropagation();
    if (event.key === "Escape") {
      event.stopPropagation();
      if (!list.hidden) { list.hidden = true; return; }
      if (typing) { root.focus(); return; }
      const outside = root.closest(".jp-Cell, .jp-Notebook");
      event.target.blur();
      root.blur();
      if (outside) { if (!outside.hasAttribute("tabindex")) outside.setAttribute("tabindex", "-1"); outside.focus(); }
      return;
    }
    if (typing && !chord.startsWith("Ctrl+")) return;
    if (event.key === "?") { help(); event.preventDefault(); return; }
    const onButton = event.target.closest("button,summary,a") && (event.key === " " || event.key === "Enter");
    const action = onButton ? null : actions.get(chord);
    if (action && action(event) !== false) { event.preventDefault(); event.stopPropagation(); }
  });
  el.replaceChildren(root);
  return {
    root, tools, body, live,
    say(text) { live.textContent = text; },
    key(names, action) { for (const name of names.split(" ")) actions.set(name === "Space" ? " " : name, action); },
    button(text, hint, action) {
      const made = wbEl("button", { type: "button", class: "wb-btn", title: hint, onclick: action }, text);
      tools.insertBefore(made, tools.lastChild);
      return made;
    },
    error(place, error) {
      const detail = error.detail ? wbEl("details", {}, wbEl("summary", {}, "Traceback"), wbEl("pre", { class: "wb-code" }, error.detail)) : null;
      place.replaceChildren(wbEl("div", { class: "wb-note wb-bad", role: "alert" }, wbEl("strong", {}, "Error: "), error.message, detail));
      live.textContent = "Error: " + error.message;
    },
  };
}

// "Pin snapshot": a plain second output that stays when the kernel is gone.
function wbPin(frame, client, model, state) {
  if (model.get("offline")) return;
  frame.button("Pin snapshot", "Put a plain copy below that stays without a kernel", () => {
    client.ask("pin", state()).then(() => frame.say("Snapshot pinned below the widget."), (error) => frame.say("Error: " + error.message));
  });
}

// Long work: a spinner after one second, Cancel after two.
function wbWork(frame, client, place, op, args, text) {
  const bar = wbEl("progress", { max: "1", "aria-label": text });
  const label = wbEl("span", {}, text);
  const cancel = wbEl("button", { type: "button", class: "wb-btn", hidden: true }, "Cancel");
  const box = wbEl("div", { class: "wb-work", hidden: true }, bar, label, cancel);
  place.replaceChildren(box);
  frame.root.setAttribute("aria-busy", "true");
  const timers = [setTimeout(() => { box.hidden = false; }, 1000), setTimeout(() => { cancel.hidden = false; }, 2000)];
  const answer = client.ask(op, args, (share, words) => { bar.value = share; label.textContent = words; });
  cancel.addEventListener("click", () => { client.cancel(answer.request); cancel.disabled = true; label.textContent = "Stopping …"; });
  const over = () => { timers.forEach(clearTimeout); box.remove(); frame.root.removeAttribute("aria-busy"); };
  answer.then(over, over);
  return answer;
}

// A graph picture with its list twin; one selection for both.  No question to the kernel.
function wbGraph(frame, host, graph, onSelect) {
  const pane = wbEl("div", { class: "wb-gpane", tabindex: "0", role: "application", "aria-label": "Graph: arrows follow edges, drag to move", html: graph.svg });
  const twin = wbEl("div", { class: "wb-glist", tabindex: "0", role: "listbox", "aria-label": "Nodes", html: graph.list });
  const detail = wbEl("div", { class: "wb-gdetail" });
  host.replaceChildren(wbEl("div", { class: "wb-gview" }, wbEl("div", { class: "wb-gside" }, twin, detail), pane));
  const svg = pane.querySelector("svg");
  const nodes = new Map([...pane.querySelectorAll(".wb-gn")].map((n) => [n.dataset.id, n]));
  const items = new Map([...twin.querySelectorAll("li")].map((n) => [n.dataset.id, n]));
  const edges = [...pane.querySelectorAll(".wb-ge")];
  for (const item of items.values()) { item.setAttribute("role", "option"); item.setAttribute("aria-selected", "false"); }
  let picked = null;
  let zoom = 1;
  const full = svg ? [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))] : [1, 1];
  function scale(to) {
    zoom = Math.max(0.05, Math.min(4, to));
    svg?.setAttribute("width", full[0] * zoom);
    svg?.setAttribute("height", full[1] * zoom);
  }
  function fit() {
    pane.scrollTo(0, 0);
    if (pane.clientWidth) scale(Math.min(1.2, (pane.clientWidth - 8) / full[0], (pane.clientHeight - 8) / full[1]));
  }
  // The first view is legible: a large graph starts at its first node, Space shows the whole.
  function start() {
    fit();
    if (zoom < 0.9) scale(0.9);
    const first = pane.querySelector(".wb-k-param") ?? [...nodes.values()][0];
    if (!first) return;
    const a = first.getBoundingClientRect(), b = pane.getBoundingClientRect();
    pane.scrollBy(a.left + a.width / 2 - b.left - b.width / 2, a.top - b.top - 16);
  }
  function select(id, from) {
    if (!nodes.has(id)) return false;
    for (const n of pane.querySelectorAll(".wb-on,.wb-near")) n.classList.remove("wb-on", "wb-near");
    items.get(picked)?.setAttribute("aria-selected", "false");
    items.get(picked)?.classList.remove("wb-on");
    picked = id;
    nodes.get(id).classList.add("wb-on");
    for (const edge of edges) {
      const { src, dst } = edge.dataset;
      if (src !== id && dst !== id) continue;
      edge.classList.add("wb-on");
      nodes.get(src === id ? dst : src)?.classList.add("wb-near");
    }
    const item = items.get(id);
    item?.classList.add("wb-on");
    item?.setAttribute("aria-selected", "true");
    if (from !== "list") item?.scrollIntoView({ block: "nearest" });
    if (from !== "pane") {
      const a = nodes.get(id).getBoundingClientRect(), b = pane.getBoundingClientRect();
      pane.scrollBy(a.left < b.left || a.right > b.right ? a.left - b.left - b.width / 2 : 0,
        a.top < b.top || a.bottom > b.bottom ? a.top - b.top - b.height / 2 : 0);
    }
    const title = nodes.get(id).querySelector("title")?.textContent ?? id;
    detail.replaceChildren(...title.split("\n").map((text, i) => wbEl(i ? "div" : "strong", {}, text)));
    frame.say("Selected " + title.split("\n").slice(0, 2).join(", ")); // the rest is in the details
    onSelect?.(id);
    return true;
  }
  function along(ahead) {
    const next = edges.find((e) => (ahead ? e.dataset.src : e.dataset.dst) === picked);
    return next ? select(ahead ? next.dataset.dst : next.dataset.src, "keys") : select(picked ?? [...nodes.keys()][0], "keys");
  }
  function beside(step) {
    if (!picked) return along(true);
    const at = (n) => n.getBoundingClientRect();
    const row = [...nodes].filter(([, n]) => Math.abs(at(n).top - at(nodes.get(picked)).top) < 20).sort((a, b) => at(a[1]).left - at(b[1]).left);
    const next = row[row.findIndex(([id]) => id === picked) + step];
    return next ? select(next[0], "keys") : true;
  }
  pane.addEventListener("click", (event) => { const n = event.target.closest(".wb-gn"); if (n) select(n.dataset.id, "pane"); });
  twin.addEventListener("click", (event) => { const n = event.target.closest("li"); if (n) select(n.dataset.id, "list"); });
  pane.addEventListener("keydown", (event) => {
    const act = { ArrowDown: () => along(true), ArrowUp: () => along(false), ArrowLeft: () => beside(-1), ArrowRight: () => beside(1),
      "+": () => scale(zoom * 1.25), "-": () => scale(zoom / 1.25), " ": fit }[event.key];
    if (act) { act(); event.preventDefault(); event.stopPropagation(); }
  });
  twin.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const shown = [...items].filter(([, n]) => !n.hidden).map(([id]) => id);
    select(shown[Math.max(0, Math.min(shown.length - 1, shown.indexOf(picked) + step))], "keys");
    event.preventDefault();
    event.stopPropagation();
  });
  let drag = null;
  pane.addEventListener("pointerdown", (event) => { if (event.button === 0) drag = [event.clientX + pane.scrollLeft, event.clientY + pane.scrollTop]; });
  pane.addEventListener("pointermove", (event) => { if (drag && event.buttons) pane.scrollTo(drag[0] - event.clientX, drag[1] - event.clientY); else drag = null; });
  pane.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    scale(zoom * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
  }, { passive: false });
  return {
    select, fit, start, along, beside, zoom: (factor) => scale(zoom * factor), picked: () => picked, pane, twin,
    filter(text) {
      const wanted = text.trim().toLowerCase();
      let hits = 0;
      for (const [id, item] of items) {
        const hit = !wanted || item.textContent.toLowerCase().includes(wanted);
        item.hidden = !hit;
        nodes.get(id)?.classList.toggle("wb-faint", !hit);
        hits += hit;
      }
      return hits;
    },
  };
}
