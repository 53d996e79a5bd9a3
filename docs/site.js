// On pages with judged tables: a choice of judgements, so that failures can be read alone.
"use strict";

const JUDGEMENTS = ["all", "not reproduced", "same direction", "reproduced"];

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
