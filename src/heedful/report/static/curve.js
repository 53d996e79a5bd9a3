// A small chart of lines from 0 to 1 both ways, with a reading of the nearest points.

import { fill, make } from "./dom.js";
import { number } from "./numbers.js";
import { said } from "./units.js";

const SVG = "http://www.w3.org/2000/svg";
const BOX = { width: 460, height: 252, left: 40, right: 10, top: 28, bottom: 38 };
const TICKS = [0, 0.25, 0.5, 0.75, 1];
const KINDS = ["x-one", "x-other-line"];

/** Lines are `{title, points: [{x, y, says}]}`, at most two. */
export function curve(lines, up) {
  const mark = draw("g", { class: "x-cursor" });
  const picture = draw("svg", { viewBox: `0 0 ${BOX.width} ${BOX.height}`, class: "x-curve", role: "img",
    "aria-label": spoken(lines, up) }, ...TICKS.flatMap(tick), ...names(up),
  ...lines.map((line, i) => drawn(line.points, KINDS[i])), mark);
  const reading = make("p", { class: "x-reading", "aria-hidden": "true" });
  const rest = () => { fill(mark); fill(reading, "Point at the chart to read it."); };
  picture.addEventListener("pointermove", (event) => read(event, picture, lines, mark, reading));
  picture.addEventListener("pointerleave", rest);
  rest();
  return make("div", { class: "x-chart" }, legend(lines), picture, reading);
}

const across = (x) => BOX.left + x * (BOX.width - BOX.left - BOX.right);
const upward = (y) => BOX.height - BOX.bottom - y * (BOX.height - BOX.top - BOX.bottom);

function tick(at) {
  const y = upward(at);
  return [
    draw("line", { x1: BOX.left, x2: BOX.width - BOX.right, y1: y, y2: y, class: "x-rule" }),
    text(String(at), BOX.left - 5, y + 3.5, "end"),
    text(`${100 * at}%`, across(at), BOX.height - BOX.bottom + 17, at === 1 ? "end" : "middle"),
  ];
}

function names(up) {
  return [
    text(said("share of words removed"), across(0.5), BOX.height - 4, "middle"),
    text(up, 2, 14, "start"),
  ];
}

function drawn(points, kind) {
  const path = points.map(({ x, y }, i) => `${i ? "L" : "M"}${across(x).toFixed(2)} ${upward(y).toFixed(2)}`);
  return draw("path", { d: path.join(""), class: `x-path ${kind}` });
}

function legend(lines) {
  return make("ul", { class: "x-legend" }, ...lines.map((line, i) => make("li", {},
    draw("svg", { viewBox: "0 0 28 8", width: 28, height: 8, "aria-hidden": "true" },
      draw("path", { d: "M1 4H27", class: `x-path ${KINDS[i]}` })), ` ${line.title}`)));
}

/** The points nearest to the pointer, in words and as dots. */
function read(event, picture, lines, mark, reading) {
  const box = picture.getBoundingClientRect();
  const at = ((event.clientX - box.left) / box.width) * BOX.width;
  const near = lines.map(({ points }) => points.reduce((best, point) =>
    (Math.abs(across(point.x) - at) < Math.abs(across(best.x) - at) ? point : best)));
  fill(mark, ...near.map((point, i) => draw("circle", { cx: across(point.x), cy: upward(point.y), r: 4,
    class: `x-dot ${KINDS[i]}` })));
  fill(reading, near.map((point, i) => `${lines[i].title}: ${number(point.y)} ${point.says}`).join(" · "));
}

function spoken(lines, up) {
  return lines.map(({ title, points }) => `${up} by ${title}: from ${number(points[0].y, 2)} `
    + `with all ${said("words")} to ${number(points.at(-1).y, 2)} ${points.at(-1).says}.`).join(" ");
}

function text(content, x, y, anchor) {
  const element = draw("text", { x, y, "text-anchor": anchor });
  element.textContent = content;
  return element;
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}
