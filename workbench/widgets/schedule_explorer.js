// Loop tree | legal moves of the chosen loop or block, reasons for the rest | script, diff, code, times.
// Every click becomes a line of Python; undo is moving in the history, never an inverse operation.
function render({ model, el }) {
  const client = wbClient(model);
  const frame = wbRoot(el, model, [
    ["↑ ↓ or k j", "previous / next loop or block"], ["Ctrl+Z", "undo"], ["Ctrl+Shift+Z", "redo"],
    ["Enter", "go to the moves of the selection"], ["/", "filter the moves"], ["← →", "previous / next tab"], ["m", "measure"],
  ]);
  const data = model.get("data");
  const offline = model.get("offline");
  const filter = wbEl("input", { type: "search", class: "wb-input", placeholder: "filter moves  ( / )", "aria-label": "Filter moves" });
  const always = wbEl("input", { type: "checkbox" });
  const tree = wbEl("div", { class: "wb-stree", tabindex: "0", role: "group", "aria-label": "Loops and blocks" });
  const moves = wbEl("div", { class: "wb-smoves", role: "group", "aria-label": "Moves" });
  const history = wbEl("ol", { class: "wb-hist", role: "listbox", tabindex: "0", "aria-label": "History" });
  const strip = wbEl("div", { class: "wb-tabs", role: "tablist", "aria-label": "Views of the schedule" });
  const view = wbEl("div", { class: "wb-view", role: "tabpanel", tabindex: "0" });
  const work = wbEl("div");
  const trouble = wbEl("div");
  const pane = (title, ...kids) => wbEl("div", { class: "wb-pane" }, wbEl("h4", {}, title), ...kids);
  frame.body.append(work, trouble, wbEl("div", { class: "wb-sgrid" },
    wbEl("div", {}, pane("Loops and blocks", tree), pane("History", history)),
    pane("Moves", moves), wbEl("div", { class: "wb-main" }, strip, view)));
  let state;
  let tab = "script";
  let picked = null;
  let turn = 0;
  let busy = false;
  const tabs = [["script", "Script"], ["diff", "Diff"], ["code", "Python"], ["times", "Times"]];
  const tabButtons = tabs.map(([id, label]) => {
    const made = wbEl("button", { type: "button", role: "tab", class: "wb-tab", "data-tab": id, onclick: () => show(id) }, label);
    strip.append(made);
    return made;
  });
  const undo = frame.button("↶ Undo", "Undo (Ctrl+Z)", () => step("undo"));
  const redo = frame.button("↷ Redo", "Redo (Ctrl+Shift+Z)", () => step("redo"));
  const nodes = () => [...tree.querySelectorAll("[data-id]")];
  function take(next) {
    state = next;
    tree.innerHTML = next.tree;
    history.replaceChildren(...next.history.map((item) => wbEl("li", {
      role: "option", "aria-selected": String(item.current), "data-state": item.id, "data-here": item.current,
      class: (item.current ? "wb-on " : "") + (item.active ? "" : "wb-off"), style: `padding-left:${20 + 14 * item.depth}px`,
      title: item.active ? "" : "another branch: click to go there", onclick: () => step("goto", { state: item.id }),
    }, (item.current ? "▶" : item.active ? "·" : "◦") + "\u00a0" + item.text, item.time ? wbEl("span", { class: "wb-dim" }, "  " + item.time) : null)));
    undo.disabled = !next.undo;
    redo.disabled = !next.redo;
    const still = nodes().some((n) => n.dataset.id === picked);
    choose(still ? picked : next.select ?? nodes()[0]?.dataset.id, false);
    show(tab);
    if (next.said) frame.say(next.said);
  }
  async function show(id) {
    tab = id;
    tabButtons.forEach((b) => { const on = b.dataset.tab === id; b.setAttribute("aria-selected", String(on)); b.tabIndex = on ? 0 : -1; });
    const mine = ++turn;
    try {
      const answer = await client.ask("tab", { state: state.id, tab, times: tab === "times" ? state.measured : 0 });
      if (mine === turn) { view.innerHTML = answer.html; mark(); }
    } catch (error) { if (mine === turn) frame.error(view, error); }
  }
  function mark() {
    view.querySelectorAll(".wb-cl.wb-on").forEach((n) => n.classList.remove("wb-on"));
    if (picked) view.querySelectorAll(`.wb-cl[data-id~="${CSS.escape(picked)}"]`).forEach((n) => n.classList.add("wb-on"));
  }
  async function choose(id, speak = true) {
    if (!id) { moves.replaceChildren(wbEl("div", { class: "wb-empty" }, "This function has no loop and no block.")); return; }
    picked = id;
    nodes().forEach((n) => { const on = n.dataset.id === id; n.classList.toggle("wb-on", on); n.setAttribute("aria-current", String(on)); if (on && speak) frame.say("Selected " + n.textContent.trim()); });
    mark();
    const where = state.id;
    try {
      const menu = await client.ask("menu", { state: where, id });
      if (picked === id && state.id === where) list(menu);
    } catch (error) { frame.error(moves, error); }
  }
  function field(arg) {
    const attrs = { class: "wb-input", "data-arg": arg.name, "aria-label": arg.name };
    let made;
    if (arg.choices) made = wbEl("select", attrs, ...arg.choices.map(([value, label]) => wbEl("option", { value, selected: value === arg.value }, label)));
    else made = wbEl("input", { ...attrs, type: "text", size: Math.max(4, Math.min(30, String(arg.value ?? "").length + 1)), value: arg.value ?? "", placeholder: arg.hint ?? "" });
    return wbEl("label", {}, arg.name, made);
  }
  function list(menu) {
    const boxes = menu.moves.map((move) => {
      const fields = move.legal ? move.args.map(field) : [];
      const plain = fields.filter((_, i) => !move.args[i].option);
      const options = fields.filter((_, i) => move.args[i].option);
      const more = options.length ? wbEl("details", { class: "wb-more" }, wbEl("summary", {}, "options"), ...options) : null;
      const go = () => apply(move.name, Object.fromEntries(fields.map((f) => [f.lastChild.dataset.arg, f.lastChild.value])));
      const box = wbEl("div", { class: "wb-move" + (move.legal ? "" : " wb-no"), "data-move": move.name },
        move.legal
          ? wbEl("button", { type: "button", class: "wb-btn wb-primary", disabled: offline, title: move.doc, onclick: go }, "✓ " + move.name)
          : wbEl("strong", {}, "✗ " + move.name),
        ...plain, more, wbEl("span", { class: move.legal ? "wb-doc" : "wb-why" }, move.legal ? move.doc : move.why));
      fields.forEach((f) => f.addEventListener("keydown", (event) => { if (event.key === "Enter") { go(); event.preventDefault(); } }));
      return box;
    });
    moves.replaceChildren(wbEl("div", { class: "wb-dim" }, menu.title), ...boxes);
    sift();
  }
  function sift() {
    const wanted = filter.value.trim().toLowerCase();
    let hits = 0;
    moves.querySelectorAll(".wb-move").forEach((box) => { box.style.display = box.dataset.move.includes(wanted) ? "" : "none"; hits += box.dataset.move.includes(wanted); });
    return hits;
  }
  async function step(op, args = {}) {
    if (busy) return;
    busy = true;
    try { take(await client.ask(op, { ...args, from: state.id })); trouble.replaceChildren(); } // the state stays if it fails
    catch (error) { frame.error(trouble, error); }
    finally { busy = false; }
    return true;
  }
  async function apply(name, args) {
    const before = state.id;
    await step("apply", { id: picked, name, args });
    if (always.checked && state.id !== before) await measure();
  }
  const measure = () => wbWork(frame, client, work, "measure", { from: state.id }, "Compiling and measuring …").then((next) => { tab = "times"; take(next); trouble.replaceChildren(); }, (error) => frame.error(trouble, error));
  tree.addEventListener("click", (event) => {
    const n = event.target.closest("[data-id]");
    if (n) { event.preventDefault(); choose(n.dataset.id); }
  });
  function move(by) {
    const all = nodes().map((n) => n.dataset.id);
    choose(all[Math.max(0, Math.min(all.length - 1, all.indexOf(picked) + by))]);
  }
  function turnTab(by) { const ids = tabs.map(([id]) => id); show(ids[(ids.indexOf(tab) + by + ids.length) % ids.length]); }
  filter.addEventListener("input", () => { const hits = sift(); frame.say(hits ? `${hits} moves shown` : `No move matches "${filter.value}"`); });
  frame.key("ArrowDown j", () => move(1));
  frame.key("ArrowUp k", () => move(-1));
  frame.key("ArrowRight", () => turnTab(1));
  frame.key("ArrowLeft", () => turnTab(-1));
  frame.key("Ctrl+Z", () => step("undo"));
  frame.key("Ctrl+Shift+Z Ctrl+Y", () => step("redo"));
  frame.key("Enter", () => moves.querySelector("button:not([disabled])")?.focus());
  frame.key("/", () => filter.focus());
  frame.tools.prepend(filter);
  if (data.measure && !offline) {
    frame.button("Measure", "Compile and measure this state (m)", measure);
    frame.key("m", () => { measure(); });
    frame.tools.insertBefore(wbEl("label", { class: "wb-check" }, always, "after each step"), frame.tools.lastChild);
  }
  wbPin(frame, client, model, () => ({ state: state.id, tab }));
  if (offline) trouble.replaceChildren(wbEl("div", { class: "wb-note wb-info" }, wbEl("strong", {}, "Note: "), "this is a saved copy: look around freely, moves need the notebook."));
  take(data);
  return () => client.close();
}
export default { render };
