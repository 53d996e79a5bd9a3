// The prediction before and after: two bars for each class, and one sentence.

import { fill, make, word } from "./dom.js";

export function prediction(answer, edited) {
  const now = edited ?? answer;
  const rows = now.classes.map((each) => bar(each, now, Boolean(edited)));
  const box = make("div", { class: "prediction" });
  const says = make("p", { class: "says", "aria-live": "polite" });
  fill(says, ...sentence(answer, edited));
  const rest = now.of_classes - now.classes.length;
  fill(box, says, make("div", { class: "classes" }, ...rows),
    rest > 0 ? make("p", { class: "caption" }, `and ${rest} less likely classes.`) : null);
  return box;
}

function bar(each, now, edited) {
  const before = edited ? each.before : each.probability;
  const track = make("div", { class: "probability" });
  const was = make("span", { class: "was" });
  const is = make("span", { class: "is" });
  was.style.setProperty("--at", `${100 * before}%`);
  is.style.setProperty("--at", `${100 * each.probability}%`);
  track.append(was, is);
  const chosen = each.name === now.predicted;
  return make("div", { class: chosen ? "class chosen" : "class" }, word(each.name), track,
    make("span", { class: "n" }, edited ? `${precise(before)} → ` : "",
      make("strong", {}, precise(each.probability))));
}

function sentence(answer, edited) {
  const name = (text) => word(text, { class: "name" });
  const asked = answer.answer !== null;
  if (!edited) return [asked ? "Answer: " : "Predicted: ", name(answer.predicted), "."];
  const moved = `The output moved by ${edited.moved.toFixed(3)}`;
  const apart = edited.jsd === null ? "."
    : `, attention by ${edited.jsd.toFixed(3)} (JSD, at most 0.693).`;
  if (asked) return ["Answer: ", name(edited.predicted), `. ${moved}${apart}`];
  if (edited.predicted === edited.predicted_before) {
    return ["Still ", name(edited.predicted), `. ${moved}${apart}`];
  }
  return [make("span", { class: "flip" }, "Changed"), " from ", name(edited.predicted_before),
    " to ", name(edited.predicted), `. ${moved}${apart}`];
}

export function precise(p) {
  if (p > 0.9999) return ">99.99%";
  if (p > 0 && p < 0.0001) return "<0.01%";
  return `${(100 * p).toFixed(p > 0.99 || p < 0.01 ? 2 : 1)}%`;
}
