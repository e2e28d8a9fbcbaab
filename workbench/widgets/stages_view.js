// Operators | loops | assembly of one kernel.  A selection in one pane is shown in all of them.
function render({ model, el }) {
  const client = wbClient(model);
  const frame = wbRoot(el, model, [
    ["↑ ↓ or k j", "previous / next line in the pane of the selection"], ["← →", "previous / next kernel"],
  ]);
  const { kernels, first } = model.get("data");
  const choice = wbEl("select", { class: "wb-input wb-kernel", "aria-label": "Kernel" }, ...kernels.map(([name, loops, code]) =>
    wbEl("option", { value: name }, `${name} (${loops} → ${code} lines)`)));
  frame.tools.prepend(choice);
  const panes = { ops: wbEl("div", { class: "wb-ops", tabindex: "0" }), loops: wbEl("div"), asm: wbEl("div") };
  const titles = { ops: "Operators", loops: "Loops", asm: "Assembly" };
  frame.body.append(wbEl("div", { class: "wb-linked" }, ...Object.entries(panes).map(([id, pane]) =>
    wbEl("div", { class: "wb-lpane", "data-pane": id }, wbEl("h4", {}, titles[id]), pane))));
  let picked = null;
  let turn = 0;
  const ids = (node, kind) => (node.dataset.id ?? "").split(" ").filter((id) => id[0] === kind);
  const all = (pane) => [...panes[pane].querySelectorAll("[data-id]")];
  const paneOf = (node) => node.closest("[data-pane]").dataset.pane;
  function take(answer) {
    picked = null;
    choice.value = answer.name;
    panes.ops.replaceChildren(...(answer.operators.length
      ? answer.operators.map((name, i) => wbEl("div", { class: "wb-opn", "data-id": "O" + i }, name))
      : [wbEl("div", { class: "wb-empty" }, "No statement says which operator it is from.")]));
    panes.loops.innerHTML = answer.loops;
    panes.asm.innerHTML = answer.asm;
    // Lines of the loops that have machine code get a band, and their instructions the same.
    const used = new Set(all("asm").flatMap((n) => ids(n, "L")));
    for (const node of [...all("loops"), ...all("asm")]) {
      const line = ids(node, "L").find((id) => used.has(id));
      if (line) node.classList.add("wb-band" + (Number(line.slice(1)) % 6));
    }
    frame.say(`${answer.name}: select an operator, a loop line or an instruction`);
  }
  function show(node, box) {
    const outer = node.closest(".wb-code") ?? panes.ops;
    if (!outer.contains(node)) return;
    const a = node.getBoundingClientRect(), b = outer.getBoundingClientRect();
    if (a.top < b.top || a.bottom > b.bottom) outer.scrollTop += a.top - b.top - b.height / 3;
  }
  function select(node) {
    picked = node;
    const pane = paneOf(node);
    const lines = new Set(pane === "ops"
      ? all("loops").filter((n) => ids(n, "O").includes(node.dataset.id)).flatMap((n) => ids(n, "L"))
      : ids(node, "L"));
    const loops = all("loops").filter((n) => lines.has(ids(n, "L")[0]));
    const asm = all("asm").filter((n) => ids(n, "L").some((id) => lines.has(id)));
    const names = new Set(pane === "ops" ? [node.dataset.id] : loops.flatMap((n) => ids(n, "O")));
    const ops = all("ops").filter((n) => names.has(n.dataset.id));
    frame.body.querySelectorAll(".wb-on,.wb-pick").forEach((n) => n.classList.remove("wb-on", "wb-pick"));
    for (const n of [...ops, ...loops, ...asm]) n.classList.add("wb-on");
    node.classList.add("wb-on", "wb-pick");
    for (const [id, found] of [["ops", ops], ["loops", loops], ["asm", asm]]) if (id !== pane && found.length) show(found[0]);
    show(node);
    const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
    const what = { ops: "Operator " + node.textContent, loops: "Loop line " + ids(node, "L").map((l) => l.slice(1)), asm: "Instruction" }[pane];
    const parts = [pane !== "ops" && (ops.length ? ops.map((n) => n.textContent).join(", ") : "no operator known"),
      pane !== "loops" && count(loops.length, "loop line"), pane !== "asm" && count(asm.length, "instruction")];
    frame.say(`${what}: ${parts.filter(Boolean).join("; ")}`);
  }
  frame.body.addEventListener("click", (event) => { const n = event.target.closest("[data-id]"); if (n) select(n); });
  async function go(name) {
    const mine = ++turn;
    try {
      const answer = await client.ask("kernel", { name });
      if (mine === turn) take(answer);
    } catch (error) { frame.error(panes.loops, error); }
  }
  function turnKernel(by) {
    const i = choice.selectedIndex + by;
    if (i >= 0 && i < kernels.length) go(kernels[i][0]);
  }
  function move(by) {
    const list = all(picked ? paneOf(picked) : "loops").filter((n) => n.dataset.id);
    const at = picked ? list.indexOf(picked) + by : 0;
    if (list[at]) select(list[at]);
  }
  choice.addEventListener("change", () => go(choice.value));
  frame.key("ArrowDown j", () => move(1));
  frame.key("ArrowUp k", () => move(-1));
  frame.key("ArrowRight", () => turnKernel(1));
  frame.key("ArrowLeft", () => turnKernel(-1));
  wbPin(frame, client, model, () => ({ name: choice.value }));
  if (first) take(first);
  else frame.body.replaceChildren(wbEl("div", { class: "wb-empty" }, "The program has no kernel: nothing was left to compute."));
  return () => client.close();
}
export default { render };
