// The note beside the pointer: what the mark under it says, in words.

import { fill, make, word } from "./dom.js";
import { noteOf } from "./chart_data.js";

const REACH = 12;
let note = null;

/** Show notes for a view that was drawn in the element. */
export function watchMarks(view, element, spec, series) {
  const show = (event, item) => {
    const found = itemAt(event, item, element);
    const told = found && noteOf(spec, found.datum ?? {}, series);
    if (told) place(told, event);
    else hideNote();
  };
  view.addEventListener("pointermove", show);
  view.addEventListener("pointerdown", show);
  element.addEventListener("pointerleave", hideNote);
}

export function hideNote() {
  if (note) note.hidden = true;
}

/** The mark itself, the point of a line nearest to the pointer, or a dot close by. */
function itemAt(event, item, element) {
  const type = item?.mark?.role === "mark" ? item.mark.marktype : "";
  if (type === "line" || type === "area") return nearestOf(item.mark.items, event);
  if (type !== "" && type !== "group") return item;
  return closeDot(element, event);
}

function nearestOf(items, event) {
  const matrix = event.target.getScreenCTM?.();
  if (!matrix) return items[0];
  const here = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
  return items.reduce((best, each) => (Math.abs(each.x - here.x) < Math.abs(best.x - here.x) ? each : best));
}

function closeDot(element, event) {
  let found = null;
  let least = REACH;
  for (const dot of element.querySelectorAll(".mark-symbol.role-mark path")) {
    const box = dot.getBoundingClientRect();
    const far = Math.hypot(event.clientX - (box.left + box.right) / 2, event.clientY - (box.top + box.bottom) / 2);
    if (far < least) [found, least] = [dot.__data__, far];
  }
  return found;
}

function place(told, event) {
  const box = noteElement(event);
  fill(box, heading(told), ...told.lines.map(([title, value]) =>
    make("p", {}, make("span", {}, `${title}: `), word(value))));
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const right = event.clientX + 14 + width > window.innerWidth - 8;
  const left = right ? Math.max(8, event.clientX - 14 - width) : event.clientX + 14;
  box.style.left = `${left}px`;
  box.style.top = `${Math.max(8, Math.min(event.clientY + 16, window.innerHeight - height - 8))}px`;
}

function heading(told) {
  if (told.names.length === 0) return null;
  const swatch = told.colour ? make("i", { class: "dot" }) : null;
  if (swatch) swatch.style.background = told.colour;
  return make("p", { class: "names" }, swatch, word(told.names.join(" · ")));
}

/** One for the page; inside an open dialog it has to be inside it. */
function noteElement(event) {
  note ??= make("div", { class: "chart-note", role: "status" });
  const home = event.target.closest?.("dialog") ?? document.body;
  if (note.parentElement !== home) home.append(note);
  return note;
}
