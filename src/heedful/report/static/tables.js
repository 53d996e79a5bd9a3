// Tables that can be taken along, and long ones put in another order.

import { button, make } from "./dom.js";
import { byColumn } from "./cell_order.js";
import { fileName, tableFiles } from "./downloads.js";
import { menu } from "./menus.js";

const LONG = 5;

/** All tables inside the root that scroll or have a name. */
export function startTables(root = document) {
  for (const table of root.querySelectorAll("table[data-name], .scroll > table")) {
    if (table.dataset.live || table.rows.length < 2) continue;
    table.dataset.live = "yes";
    const around = table.closest(".scroll") ?? table;
    around.after(tools(table));
    if (table.tHead && table.tBodies[0].rows.length >= LONG) sortable(table);
  }
}

/** A table's cells as texts, in the order in which they stand; columns of drawings left out. */
function rowsOf(table) {
  const drawn = new Set([...table.rows[0].cells].flatMap((cell, i) => (cell.matches(".draw") ? [i] : [])));
  return [...table.rows].map((row) => [...row.cells].filter((_, i) => !drawn.has(i)).map(textOf));
}

/** The words of a cell, parts apart, what is tagged on to it in brackets. */
function textOf(cell) {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const parts = [];
  while (walker.nextNode()) {
    const { textContent, parentElement } = walker.currentNode;
    parts.push(parentElement.closest(".tag") ? `(${textContent.trim()})` : textContent);
  }
  return parts.join(" ").replace(/\s+/g, " ").trim();
}

function tools(table) {
  const title = titleOf(table);
  const model = table.closest("[data-model]")?.dataset.model ?? "";
  const files = tableFiles(fileName(`${model} ${title}`), async () => headed(table));
  return make("div", { class: "table-tools" }, menu("Download", title, files));
}

/** Rows with names above them, also where the table has none. */
function headed(table) {
  const rows = rowsOf(table);
  return table.tHead ? rows : [["name", "value"].slice(0, rows[0].length), ...rows];
}

function titleOf(table) {
  const near = table.closest("section, details, .card, body");
  return table.dataset.name ?? table.closest("[aria-label]")?.getAttribute("aria-label") ??
    near.querySelector("h2, h3, summary")?.textContent ?? "table";
}

function sortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    if (head.textContent.trim() === "") return;
    const sort = button("", () => order(table, head, place), { class: "sort" });
    sort.append(...head.childNodes);
    head.append(sort);
    head.setAttribute("aria-sort", "none");
  });
}

/** First down from the smallest, then the other way; equal ones keep their order. */
function order(table, head, place) {
  const descending = head.getAttribute("aria-sort") === "ascending";
  for (const each of table.tHead.rows[0].cells) {
    if (each.hasAttribute("aria-sort")) each.setAttribute("aria-sort", "none");
  }
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => ({ row, text: textOf(row.cells[place]) }));
  body.append(...byColumn(keyed, descending).map(({ row }) => row));
}
