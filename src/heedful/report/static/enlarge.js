// A chart as large as the window allows, to pan and zoom where both axes are numbers.

import { button, fill, make, word } from "./dom.js";
import { hideNote, watchMarks } from "./chart_note.js";
import { larger } from "./larger.js";
import { drawn } from "./vega.js";
import { follow, reset, zoom, zooming } from "./zoom.js";

/** Opens a dialog; the element that had the focus gets it back when it is closed. */
export async function enlarge(spec, series) {
  const place = make("div", { class: "chart-large" });
  const tools = make("div", { class: "chart-tools" });
  const dialog = make("dialog", { class: "chart-dialog", "aria-label": spec.usermeta.title },
    head(spec.usermeta.title), key(series), place, tools);
  document.body.append(dialog);
  dialog.showModal();
  let moves = false;
  const view = await drawn(place, larger(spec, window.innerWidth), (vega) => {
    const free = zooming(vega);
    moves = free !== vega;
    return free;
  });
  const svg = place.querySelector("svg");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", spec.usermeta.says);
  watchMarks(view, place, spec, series);
  if (moves) panning(view, place, tools);
  dialog.addEventListener("close", () => {
    hideNote();
    view.finalize();
    dialog.remove();
  });
}

function head(title) {
  const name = make("h2", {}, word(title));
  const close = make("form", { method: "dialog" }, make("button", { class: "quiet" }, "Close"));
  return make("div", { class: "dialog-head" }, name, close);
}

function key(series) {
  return make("ul", { class: "legend" }, ...series.map(([name, colour]) => {
    const swatch = make("i", { class: "dot" });
    swatch.style.background = colour;
    return make("li", {}, swatch, word(name));
  }));
}

function panning(view, place, tools) {
  place.classList.add("pans");
  follow(view, place);
  fill(tools,
    make("span", { class: "soft" }, "Drag to move, turn the wheel to zoom."),
    button("Zoom in", () => zoom(view, 0.7), { class: "quiet" }),
    button("Zoom out", () => zoom(view, 1 / 0.7), { class: "quiet" }),
    button("Reset", () => reset(view), { class: "quiet" }));
}
