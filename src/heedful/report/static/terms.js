// Terms explained where they stand: each is a button that tells what the glossary says.

import { make } from "./dom.js";

const PLACES = ".chapter :is(.caption, figcaption, h3, .numbers dt, thead th, tbody th, .property p)";
const LETTER = "[\\p{L}\\p{N}]";
let note = null;

export function startTerms(root = document) {
  const terms = glossary();
  if (terms.size === 0) return;
  const words = [...terms].filter(([, term]) => !term.titles).map(([word]) => word)
    .sort((one, other) => other.length - one.length).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`(?<!${LETTER})(?:${words.join("|")})(?!${LETTER})`, "giu");
  const told = new Map();
  for (const place of root.querySelectorAll(PLACES)) mark(place, terms, pattern, told);
}

/** By each way to write it, in small letters. */
function glossary() {
  const entries = [...document.querySelectorAll("dl.glossary dt")].flatMap((name) => {
    const term = { key: name.dataset.key, titles: name.dataset.titles === "yes" };
    return name.dataset.words.split("|").map((word) => [word.toLowerCase(), term]);
  });
  return new Map(entries);
}

/** Each term once in a card, at its first place. */
function mark(place, terms, pattern, told) {
  const home = place.closest(".card, .item") ?? place.closest(".chapter");
  if (!told.has(home)) told.set(home, new Set());
  const named = terms.get(place.textContent.trim().toLowerCase());
  if (named?.titles && place.matches(".item h3")) return replace(place.firstChild, named);
  const sort = place.querySelector("button.sort");
  for (const text of textsOf(place)) {
    for (const hit of text.textContent.matchAll(pattern)) {
      const term = terms.get(hit[0].toLowerCase());
      if (told.get(home).has(term.key)) continue;
      told.get(home).add(term.key);
      if (sort) explain(sort, term);
      else replace(part(text, hit), term);
      break;
    }
  }
  return undefined;
}

function textsOf(place) {
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("a, .term, .badge, svg")) found.push(walker.currentNode);
  return found;
}

/** The text node of the hit alone. */
function part(text, hit) {
  const node = text.splitText(hit.index);
  node.splitText(hit[0].length);
  return node;
}

function replace(node, term) {
  const button = make("button", { type: "button", class: "term" });
  node.replaceWith(button);
  button.append(node);
  explain(button, term);
}

function explain(element, term) {
  element.setAttribute("aria-describedby", `says-${term.key}`);
  for (const event of ["pointerenter", "focus", "click"]) element.addEventListener(event, () => show(element, term));
  for (const event of ["pointerleave", "blur"]) element.addEventListener(event, hide);
  element.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
}

function show(element, term) {
  note ??= make("div", { class: "chart-note term-note", "aria-hidden": "true" });
  document.body.append(note);
  note.textContent = document.getElementById(`says-${term.key}`).textContent;
  note.hidden = false;
  const [at, own] = [element, note].map((each) => each.getBoundingClientRect());
  const below = at.bottom + 8 + own.height < innerHeight;
  note.style.left = `${Math.max(8, Math.min(at.left, innerWidth - own.width - 8))}px`;
  note.style.top = `${below ? at.bottom + 6 : at.top - own.height - 6}px`;
}

function hide() {
  if (note) note.hidden = true;
}
