// Measured times: bars and table with one selection; measuring again runs beside the kernel.
function render({ model, el }) {
  const client = wbClient(model);
  const frame = wbRoot(el, model, [["↑ ↓ or k j", "previous / next row"], ["m", "measure again"], ["s", "change the order"]]);
  const data = model.get("data");
  const work = wbEl("div");
  const view = wbEl("div", { class: "wb-view", tabindex: "0" });
  frame.body.append(work, view);
  let at = -1;
  let order = data.order;
  let names = [];
  function rows(i) { return view.querySelectorAll(`[data-id="${i}"]`); }
  function go(i) {
    if (!names.length) return;
    const next = Math.max(0, Math.min(names.length - 1, i));
    rows(at).forEach((n) => n.classList.remove("wb-on"));
    at = next;
    rows(at).forEach((n) => n.classList.add("wb-on"));
    frame.say(names[at]);
  }
  function draw(answer) {
    button.textContent = answer.order === "time" ? "Order: by time" : "Order: as in the program";
    view.innerHTML = answer.html;
    names = answer.names;
    order = answer.order;
    view.querySelectorAll("details").forEach((d) => { d.open = names.length <= 12; });
    view.querySelectorAll("[data-id]").forEach((n) => n.addEventListener("click", () => go(Number(n.dataset.id))));
    at = -1;
  }
  const sort = () => client.ask("view", { order: order === "time" ? "program" : "time" }).then((answer) => { draw(answer); frame.say(answer.order === "time" ? "Order: by time, slowest first" : "Order: as in the program"); }, (error) => frame.error(work, error));
  const measure = () => wbWork(frame, client, work, "measure", {}, "Measuring …").then((answer) => { draw(answer); frame.say(answer.said); }, (error) => frame.error(work, error));
  frame.key("ArrowDown j", () => go(at + 1));
  frame.key("ArrowUp k", () => go(at - 1));
  const button = frame.button("Order", "Order by time or as in the program (s)", sort);
  draw(data);
  frame.key("s", sort);
  if (data.again && !model.get("offline")) {
    frame.button("Measure again", "Measure again (m)", measure);
    frame.key("m", measure);
  }
  wbPin(frame, client, model, () => ({ order }));
  return () => client.close();
}
export default { render };
