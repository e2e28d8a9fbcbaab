// Passes on the left, what the chosen one did on the right.
function render({ model, el }) {
  const client = wbClient(model);
  const frame = wbRoot(el, model, [
    ["↑ ↓ or k j", "previous / next pass"], ["r f", "previous / next pass that changed something"],
    ["← →", "previous / next tab, or rewrite in the pass"], ["/", "filter"], ["w", "wrap long lines or not"], ["Space", "fit the graph"], ["Home End", "first / last pass"],
  ]);
  const { steps, tabs } = model.get("data");
  const filter = wbEl("input", { type: "search", class: "wb-input", placeholder: "filter  ( / )", "aria-label": "Filter passes" });
  const only = wbEl("input", { type: "checkbox" });
  frame.tools.prepend(filter, wbEl("label", { class: "wb-check" }, only, "only changed"));
  frame.live.classList.add("wb-status");
  const list = wbEl("div", { class: "wb-plist", role: "listbox", tabindex: "0", "aria-label": "Passes" });
  const strip = wbEl("div", { class: "wb-tabs", role: "tablist", "aria-label": "Views of the pass" });
  const view = wbEl("div", { class: "wb-view", role: "tabpanel", tabindex: "0" });
  frame.body.append(wbEl("div", { class: "wb-split" }, list, wbEl("div", { class: "wb-main" }, frame.live, strip, view)));
  // Long names break before a capital; the dialect is dimmed.
  function passName(name) {
    const cut = name.lastIndexOf(".") + 1;
    const words = name.slice(cut).split(/(?=[A-Z])/).flatMap((word) => [wbEl("wbr"), word]);
    return wbEl("span", { class: "wb-pname" }, cut ? wbEl("span", { class: "wb-dim" }, name.slice(0, cut)) : null, ...words);
  }
  const mark = { changed: "●", same: "○", failed: "✗", skipped: "–" };
  const rows = steps.map((step, i) => wbEl("div", {
    class: `wb-prow wb-st-${step.status}`, role: "option", "aria-selected": "false", "data-i": i, style: `padding-left:${6 + 12 * step.depth}px`,
    onclick: () => go(i),
  }, wbEl("span", { class: "wb-pn" }, String(i + 1)), wbEl("span", { class: "wb-pm", title: step.word }, mark[step.status]),
    passName(step.name), wbEl("span", { class: "wb-pc" }), wbEl("span", { class: "wb-pt" }, step.time)));
  list.append(...rows);
  const none = wbEl("div", { class: "wb-empty", hidden: true });
  list.append(none);
  let at = -1;
  let tab = tabs[0][0];
  let graph = null;
  let turn = 0;
  const tabButtons = tabs.map(([id, label]) => {
    const made = wbEl("button", { type: "button", role: "tab", class: "wb-tab", "data-tab": id, "aria-selected": "false", tabindex: "-1", onclick: () => show(id) }, label);
    strip.append(made);
    return made;
  });
  const visible = () => rows.map((row, i) => (row.hidden ? -1 : i)).filter((i) => i >= 0);
  async function draw() {
    const mine = ++turn;
    const place = view.scrollTop;
    try {
      const answer = await client.ask("view", { i: at, tab });
      if (mine !== turn) return;
      if (answer.svg) {
        const picked = graph?.picked();
        const scroll = graph ? [graph.pane.scrollLeft, graph.pane.scrollTop] : null;
        graph = wbGraph(frame, view, answer);
        if (picked) graph.select(picked, "pane");
        if (scroll) graph.pane.scrollTo(...scroll);
        else requestAnimationFrame(graph.start);
      } else {
        graph = null;
        view.innerHTML = answer.html;
        view.scrollTop = Math.min(place, view.scrollHeight);
      }
      for (const near of [at + 1, at - 1]) if (near >= 0 && near < steps.length) client.ask("view", { i: near, tab }).catch(() => {});
    } catch (error) {
      if (mine === turn) frame.error(view, error);
    }
  }
  function go(i) {
    if (i < 0 || i >= steps.length) return;
    rows[at]?.setAttribute("aria-selected", "false");
    rows[at]?.classList.remove("wb-on");
    at = i;
    const step = steps[i];
    rows[i].setAttribute("aria-selected", "true");
    rows[i].classList.add("wb-on");
    rows[i].id = rows[i].id || "wb-row-" + Math.random().toString(36).slice(2);
    list.setAttribute("aria-activedescendant", rows[i].id);
    // Not scrollIntoView: it would move the notebook as well.
    if (rows[i].offsetTop < list.scrollTop) list.scrollTop = rows[i].offsetTop;
    if (rows[i].offsetTop + rows[i].offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = rows[i].offsetTop + rows[i].offsetHeight - list.clientHeight;
    tell();
    if (step.status === "changed") count(i).then(() => { if (at === i) tell(); });
    draw();
  }
  function tell() {
    const step = steps[at];
    frame.say(`Pass ${at + 1} of ${steps.length}, ${step.name}, ${step.word}${step.counts ? ", " + step.counts : ""}, ${step.time}`);
  }
  function count(i) {
    return client.ask("counts", { i }).then((answer) => { steps[i].counts = answer.counts; rows[i].querySelector(".wb-pc").textContent = answer.counts; }, () => {});
  }
  // Line counts come one by one after the first paint: each needs two programs printed.
  async function countAll() {
    for (let i = 0; i < steps.length; i++) if (steps[i].status === "changed" && !closed) await count(i);
  }
  function show(id) {
    tab = id;
    tabButtons.forEach((b) => { const on = b.dataset.tab === id; b.setAttribute("aria-selected", String(on)); b.tabIndex = on ? 0 : -1; });
    if (at >= 0) draw();
  }
  function move(step) { const all = visible(); go(all[Math.max(0, Math.min(all.length - 1, all.indexOf(at) + step))]); }
  function jump(step) {
    const all = visible().filter((i) => steps[i].status !== "same" && (step > 0 ? i > at : i < at));
    if (all.length) go(step > 0 ? all[0] : all[all.length - 1]);
    else frame.say(step > 0 ? "No later pass changed anything" : "No earlier pass changed anything");
  }
  function turnTab(step) { const ids = tabs.map(([id]) => id); show(ids[(ids.indexOf(tab) + step + ids.length) % ids.length]); }
  function sift() {
    const wanted = filter.value.trim().toLowerCase();
    let hits = 0;
    rows.forEach((row, i) => {
      row.hidden = !(steps[i].name.toLowerCase().includes(wanted) && (!only.checked || steps[i].status !== "same"));
      hits += !row.hidden;
    });
    none.hidden = hits > 0;
    none.textContent = wanted ? `No pass matches "${filter.value}"` : "No pass changed anything";
    frame.say(`${hits} passes shown`);
  }
  filter.addEventListener("input", sift);
  only.addEventListener("change", sift);
  frame.key("ArrowDown j", () => move(1));
  frame.key("ArrowUp k", () => move(-1));
  frame.key("f", () => jump(1));
  frame.key("r", () => jump(-1));
  frame.key("Home", () => go(visible()[0]));
  frame.key("End", () => go(visible().at(-1)));
  frame.key("ArrowRight", () => turnTab(1));
  frame.key("ArrowLeft", () => turnTab(-1));
  frame.key("/", () => filter.focus());
  frame.key("Space", () => (graph ? graph.fit() : false));
  const wrap = frame.button("Wrap", "Wrap long lines (w)", () => {
    const on = frame.root.classList.toggle("wb-wrap");
    wrap.setAttribute("aria-pressed", String(on));
    frame.say(on ? "Long lines are wrapped" : "Long lines are not wrapped");
  });
  frame.root.classList.add("wb-wrap");
  wrap.setAttribute("aria-pressed", "true");
  frame.key("w", () => wrap.click());
  frame.button("◂ change", "Previous pass that changed something (r)", () => jump(-1));
  frame.button("change ▸", "Next pass that changed something (f)", () => jump(1));
  wbPin(frame, client, model, () => ({ i: at, tab }));
  show(tab);
  if (steps.length) go(Math.max(0, steps.findIndex((s) => s.status !== "same")));
  else view.append(wbEl("div", { class: "wb-empty" }, "No pass ran: the pipeline is empty."));
  let closed = false;
  countAll();
  return () => { closed = true; client.close(); };
}
export default { render };
