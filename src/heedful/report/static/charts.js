// Charts that answer: the still drawing is replaced by one that tells its numbers, when it is
// near. If anything goes wrong the still one stays.

import { button, fill } from "./dom.js";
import { has } from "./blobs.js";
import { table } from "./chart_data.js";
import { watchMarks } from "./chart_note.js";
import { fileName, save, tableFiles } from "./downloads.js";
import { enlarge } from "./enlarge.js";
import { repaint, seriesOf, startLegends } from "./legends.js";
import { menu } from "./menus.js";
import { whenNear } from "./near.js";
import { drawn, picture, specOf } from "./vega.js";

const NEAR = "250px";

/** All charts inside the root; to be called again for what is shown later. */
export function startCharts(root = document) {
  startLegends(root);
  const charts = [...root.querySelectorAll(".chart[data-chart]:not([data-state])")];
  if (charts.length === 0 || !has("charts")) return;
  charts.forEach(start);
  whenNear(charts, wake, NEAR);
}

function start(chart) {
  chart.dataset.state = "still";
  const wanted = () => wake(chart);
  chart.addEventListener("pointerenter", wanted, { once: true });
  const tools = chart.nextElementSibling;
  tools.addEventListener("focusin", wanted, { once: true });
  fill(tools, ...toolsOf(chart, tools.getAttribute("aria-label") ?? ""));
}

/** Redraw, once. */
async function wake(chart) {
  if (chart.dataset.state !== "still") return;
  chart.dataset.state = "waking";
  try {
    await enliven(chart);
    chart.dataset.state = "live";
  } catch {
    chart.dataset.state = "kept";
  }
}

async function enliven(chart) {
  const spec = await specOf(chart.dataset.chart);
  const still = chart.querySelector("svg");
  const place = document.createElement("div");
  const view = await drawn(place, spec);
  const live = place.querySelector("svg");
  for (const name of ["role", "aria-label"]) live.setAttribute(name, still.getAttribute(name));
  live.setAttribute("preserveAspectRatio", "xMinYMin meet");
  live.style.aspectRatio = ratio(still);
  still.replaceWith(place);
  watchMarks(view, chart, spec, seriesOf(chart));
  repaint(chart);
}

/** The still one's shape, so that nothing around the chart moves. */
function ratio(still) {
  const { width, height } = still.viewBox.baseVal;
  return `${width} / ${height}`;
}

function toolsOf(chart, about) {
  const spec = () => specOf(chart.dataset.chart);
  const name = nameOf(chart, about);
  const series = () => seriesOf(chart);
  const image = async (kind, mime) =>
    save(`${name}.${kind}`, mime, await picture(await spec(), series(), kind));
  return [
    button("Enlarge", async () => enlarge(await spec(), series()),
      { class: "quiet", "aria-label": `Enlarge: ${about}` }),
    menu("Download", about, [
      ["SVG", () => image("svg", "image/svg+xml")],
      ["PNG", () => image("png", "image/png")],
      ...tableFiles(name, async () => table(await spec(), series())),
    ]),
  ];
}

/** Of the model, where the page speaks of one, the figure and its panel. */
function nameOf(chart, about) {
  const model = chart.closest("[data-model]")?.dataset.model ?? "";
  const figure = chart.closest(".card")?.querySelector("h2, h3")?.textContent ?? "";
  return fileName([model, figure, about].filter((part) => part).join(" "));
}
