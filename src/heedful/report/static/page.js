// The entry: whatever the page has, it starts.

import { startAnswers } from "./answer_places.js";
import { blob, has } from "./blobs.js";
import { startBrowser } from "./browser.js";
import { startChapters } from "./chapters.js";
import { startCharts } from "./charts.js";
import { startHeads } from "./head_views.js";
import { startTables } from "./tables.js";
import { startTerms } from "./terms.js";

function start() {
  enliven(document);
  const chapters = startChapters();
  const examples = document.getElementById("example-browser");
  const browser = examples ? startBrowser(examples) : null;
  if (has("audits")) startPicking(browser, chapters);
}

function enliven(root) {
  fold(root);
  startCharts(root);
  startHeads(root);
  startAnswers(root);
  startTables(root);
  startTerms(root);
}

/** What is open without scripts is closed with them, unless the address names something in it. */
function fold(root) {
  for (const details of root.querySelectorAll("details.fold")) {
    details.open = details.querySelector(":target") !== null;
  }
}

/** Of several audits one is shown; the others wait, compressed, until they are chosen. */
function startPicking(browser, chapters) {
  const buttons = [...document.querySelectorAll("button.pick")];
  for (const button of buttons) {
    button.addEventListener("click", async () => {
      await pick(Number(button.dataset.audit), buttons);
      chapters.offer();
      (await browser)?.pickAudit(Number(button.dataset.audit));
    });
  }
}

async function pick(number, buttons) {
  const chapter = (await blob("audits"))[number];
  for (const [slot, html] of Object.entries(chapter)) {
    const place = document.querySelector(`[data-slot="${slot}"]`);
    if (!place) continue; // a chapter that no audit of this page has
    // made by the report's own templates, which escape every text
    place.innerHTML = html;
    enliven(place);
  }
  for (const button of buttons) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.audit) === number));
  }
}

start();
