// The entry: whatever the page has, it starts.

import { blob, has } from "./blobs.js";
import { startBrowser } from "./browser.js";
import { startCharts } from "./charts.js";
import { startTables } from "./tables.js";

function start() {
  enliven(document);
  const examples = document.getElementById("examples");
  const browser = examples ? startBrowser(examples) : null;
  if (has("audits")) startPicking(browser);
}

function enliven(root) {
  startCharts(root);
  startTables(root);
}

/** Of several audits one is shown; the others wait, compressed, until they are chosen. */
function startPicking(browser) {
  const buttons = [...document.querySelectorAll("button.pick")];
  for (const button of buttons) {
    button.addEventListener("click", () => pick(Number(button.dataset.audit), buttons, browser));
  }
  offerPlaces();
}

async function pick(number, buttons, browser) {
  const chapter = (await blob("audits"))[number];
  for (const [slot, html] of Object.entries(chapter)) {
    const place = document.querySelector(`[data-slot="${slot}"]`);
    // made by the report's own templates, which escape every text
    place.innerHTML = html;
    enliven(place);
  }
  for (const button of buttons) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.audit) === number));
  }
  offerPlaces();
  (await browser)?.pickAudit(number);
}

/** The contents name what this audit has. */
function offerPlaces() {
  for (const link of document.querySelectorAll("nav a")) {
    link.hidden = document.getElementById(link.hash.slice(1)) === null;
  }
}

start();
