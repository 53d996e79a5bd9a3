// On pages with judged tables: a choice of judgements, so that failures can be read alone.
// Everywhere: the button that copies a console gives its commands, without prompts and output; what
// the theme leaves without a name gets one.
"use strict";

document.addEventListener(
  "click",
  (event) => {
    const button = event.target.closest("[data-clipboard-target]");
    const block = button?.closest(".language-console");
    if (block) button.dataset.clipboardText = commands(block.querySelector("code").innerText);
  },
  true,
);

function commands(text) {
  const typed = text.match(/^\$ (?:.*\\\n)*.*$/gm) ?? [text];
  return typed.map((command) => command.replace(/^\$ /, "")).join("\n");
}

// What the theme makes without a name, or out of reach of the keyboard; it makes some of it late.
document.addEventListener("DOMContentLoaded", () => {
  reachable();
  new MutationObserver(reachable).observe(document.body, { childList: true, subtree: true });
});

function reachable() {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  for (const place of document.querySelectorAll(".md-code__nav")) place.setAttribute("role", "none");
  for (const place of document.querySelectorAll(".md-typeset__scrollwrap")) {
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", "Table");
  }
}

const JUDGEMENTS = [
  "all",
  "not reproduced",
  "same direction",
  "consistent but uncertain",
  "reproduced",
];

document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("judgement-filter");
  if (place === null) return;
  const tables = [...document.querySelectorAll("table")].filter(
    (table) => table.tHead?.rows[0].lastElementChild.textContent === "judgement",
  );
  const said = document.createElement("p");
  said.setAttribute("role", "status");
  const buttons = JUDGEMENTS.map((name) => button(name, () => show(name)));
  const group = document.createElement("div");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "Show rows that are");
  group.append("Show ", ...buttons);
  place.append(group, said);
  show("all");

  function show(name) {
    const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
    for (const row of rows) row.hidden = name !== "all" && judgement(row) !== name;
    for (const table of tables) {
      table.hidden = [...table.tBodies[0].rows].every((row) => row.hidden);
    }
    for (const each of buttons) each.setAttribute("aria-pressed", each.value === name);
    const shown = rows.filter((row) => !row.hidden).length;
    said.textContent = `${shown} of ${rows.length} numbers are shown.`;
  }
});

function judgement(row) {
  return row.lastElementChild.textContent.trim();
}

function button(name, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "md-button";
  made.value = name;
  made.textContent = name;
  made.addEventListener("click", act);
  return made;
}
