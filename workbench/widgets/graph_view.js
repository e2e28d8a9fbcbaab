// A graph with its list twin.  Folding a group asks the kernel for the new layout; all else is here.
function render({ model, el }) {
  const client = wbClient(model);
  const frame = wbRoot(el, model, [
    ["↑ ↓", "follow an edge backwards / forwards"], ["← →", "neighbour in the same row"],
    ["+ −", "zoom"], ["Space", "fit"], ["/", "filter"], ["t", "script beside the graph"], ["Enter", "open or fold the selected group"],
  ]);
  const data = model.get("data");
  const filter = wbEl("input", { type: "search", class: "wb-input", placeholder: "filter  ( / )", "aria-label": "Filter nodes" });
  frame.tools.insertBefore(filter, frame.tools.lastChild);
  const host = wbEl("div");
  const groups = wbEl("div", { class: "wb-groups" });
  const text = wbEl("div", { class: "wb-gtext", html: data.script ?? "" });
  const pair = wbEl("div", { class: "wb-gpair" }, host, text);
  frame.body.append(groups, pair);
  // The script beside the graph: one selection for both.
  function mark(id) {
    text.querySelectorAll(".wb-cl.wb-on").forEach((n) => n.classList.remove("wb-on"));
    const line = text.querySelector(`.wb-cl[data-id="${CSS.escape(id)}"]`);
    if (!line) return;
    line.classList.add("wb-on");
    const box = text.querySelector(".wb-code");
    if (line.offsetTop < box.scrollTop || line.offsetTop > box.scrollTop + box.clientHeight - 20) box.scrollTop = line.offsetTop - box.clientHeight / 3;
  }
  text.addEventListener("click", (event) => { const n = event.target.closest("[data-id]"); if (n) graph.select(n.dataset.id, "text"); });
  function showText(on) {
    text.hidden = !on;
    pair.classList.toggle("wb-both", on);
  }
  let folded = data.folded;
  let graph;
  function draw(answer) {
    const keep = graph?.picked();
    const first = !graph;
    folded = answer.folded;
    graph = wbGraph(frame, host, answer, mark);
    if (keep) graph.select(keep, "pane");
    else if (first) requestAnimationFrame(graph.start);
    groups.replaceChildren(...(data.groups.length ? [wbEl("span", { class: "wb-dim" }, "Groups: ")] : []), ...data.groups.map(([id, label]) => {
      const shut = folded.includes(id);
      return wbEl("button", { type: "button", class: "wb-btn", "aria-pressed": String(shut), "data-group": id, title: shut ? "Open" : "Fold", onclick: () => toggle(id) }, (shut ? "▸ " : "▾ ") + label);
    }));
  }
  const fold = (list) => client.ask("layout", { folded: list }).then((answer) => {
    draw(answer);
    frame.say(`${answer.count} nodes shown, ${list.length} of ${data.groups.length} groups folded`);
  }, (error) => frame.say("Error: " + error.message));
  const toggle = (id) => fold(folded.includes(id) ? folded.filter((x) => x !== id) : [...folded, id].sort());
  draw(data);
  filter.addEventListener("input", () => {
    const hits = graph.filter(filter.value);
    frame.say(hits ? `${hits} nodes match` : `No node matches "${filter.value}"`);
  });
  frame.key("/", () => filter.focus());
  frame.key("Space", () => graph.fit());
  frame.key("+ =", () => graph.zoom(1.25));
  frame.key("-", () => graph.zoom(0.8));
  frame.key("ArrowDown j", () => graph.along(true));
  frame.key("ArrowUp k", () => graph.along(false));
  frame.key("ArrowLeft", () => graph.beside(-1));
  frame.key("ArrowRight", () => graph.beside(1));
  frame.key("Enter", () => { const id = graph.picked(); if (data.groups.some(([g]) => g === id)) toggle(id); });
  frame.button("Fit", "Fit (Space)", () => graph.fit());
  if (data.groups.length) {
    frame.button("Fold all", "Fold all groups", () => fold(data.groups.map(([id]) => id).sort()));
    frame.button("Open all", "Open all groups", () => fold([]));
  }
  if (data.script) {
    const both = frame.button("Script", "Script beside the graph (t)", () => { showText(text.hidden); both.setAttribute("aria-pressed", String(!text.hidden)); });
    frame.key("t", () => both.click());
    both.setAttribute("aria-pressed", "false");
  }
  showText(false);
  wbPin(frame, client, model, () => ({ folded }));
  frame.say(`${data.count} nodes`);
  return () => client.close();
}
export default { render };
