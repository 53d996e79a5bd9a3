// Vega, unpacked once when the first chart is near. It never evaluates text as code.

import { blob, blobText } from "./blobs.js";

const OPTIONS = { mode: "vega-lite", ast: true, renderer: "svg", actions: false, hover: false,
  defaultStyle: false, tooltip: false, logLevel: 0 };
let loading = null;
let specs = null;

export async function specOf(name) {
  specs ??= blob("charts");
  return (await specs)[name];
}

/** A view of the spec in the element. `patch` changes the Vega that it was compiled to. */
export async function drawn(element, spec, patch = (vega) => vega) {
  const embed = await library();
  const { view } = await embed(element, structuredClone(spec), { ...OPTIONS, patch });
  for (const part of element.querySelectorAll("svg [role]")) part.removeAttribute("role"); // the picture says all
  return view;
}

/** The chart on white with its title and legend, as a file shows it: SVG text or a PNG. */
export async function picture(spec, series, kind) {
  const view = await drawn(document.createElement("div"), framed(spec, series));
  try {
    if (kind === "svg") return await view.toSVG();
    const canvas = await view.toCanvas(2);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    view.finalize();
  }
}

/** A spec of its own for a file. */
export function framed(spec, series) {
  const { $schema, config, datasets, usermeta, ...chart } = spec;
  const title = { text: usermeta.title, anchor: "start", fontSize: 13, offset: 10 };
  const parts = series.length ? [key(series), chart] : [chart];
  return { $schema, config: { ...config, background: "white" }, datasets, title,
    padding: 14, spacing: 10, vconcat: parts };
}

/** A legend as squares with words below each other. */
function key(series) {
  const values = series.map(([name, colour], y) => ({ y, name, colour }));
  const y = { field: "y", type: "ordinal", axis: null };
  const square = { type: "square", size: 80, opacity: 1, x: 6 };
  const words = { type: "text", align: "left", x: 16, fontSize: 11, limit: 420 };
  return { data: { values }, width: 200, height: { step: 16 }, layer: [
    { mark: square, encoding: { y, color: { field: "colour", type: "nominal", scale: null } } },
    { mark: words, encoding: { y, text: { field: "name", type: "nominal" } } },
  ] };
}

function library() {
  loading ??= blobText("vega").then((text) => {
    const script = document.createElement("script");
    script.textContent = text;
    document.head.append(script);
    return window.vegaEmbed;
  });
  return loading;
}
