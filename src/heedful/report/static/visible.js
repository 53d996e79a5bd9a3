// Words of somebody's text, safe to look at: what could act on the page is spelled out.

import { make } from "./dom.js";
import { shaded, weighted } from "./shades.js";
import { normalise } from "./weights.js";

const LONGEST = 60; // characters of one word in a line of words
const WHOLE = 200; // and in its title

/** Control, format, unassigned and lone characters as ⟨U+202E⟩, so that none can act. */
export function visible(text) {
  return String(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, spelled);
}

/** At most so many characters, with an ellipsis for the rest. */
export function clip(text, most = LONGEST) {
  const letters = Array.from(text);
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}

export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The words of a text as the shading functions want them; those from place `first` on are of
 *  the second text of a pair. */
export function shown(words, first = words.length) {
  return words.map((each, index) => {
    const whole = visible(each);
    const place = index < first ? { side: 0 } : { side: 1, why: "not attended to" };
    return { text: clip(whole), whole: clip(whole, WHOLE), ...place };
  });
}

/** The words of a row, or some of them. */
export function shownOf(row, from = 0, to = row.words.length) {
  return shown(row.words.slice(from, to), row.first - from)
    .map((word, index) => ({ ...word, asked: row.about.includes(from + index) }));
}

/** A text shaded by a map. Weights are as dark as bars are high, other scores relative to the
 *  largest. */
export function shadedBy(words, map) {
  const line = shading(map)(words, map.scores);
  line.querySelectorAll("bdi").forEach((element, index) => {
    const { text, whole } = words[index];
    if (text !== whole) element.title = `${whole}: ${element.title}`;
  });
  return line;
}

/** A word by itself. */
export function oneWord(text) {
  const whole = visible(text);
  const element = make("bdi", { class: "x-word", title: clip(whole, WHOLE) });
  element.textContent = clip(whole);
  return element;
}

function shading(map) {
  if (map.kind === "attention" || map.kind === "furthest") return weighted;
  if (map.kind === "floor" && !map.signed) return (words, scores) => weighted(words, even(scores));
  return shaded;
}

function even(scores) {
  const shares = normalise(scores.map((score) => score ?? 0));
  return scores.map((score, index) => (score === null ? null : shares[index]));
}

function spelled(letter) {
  return `⟨U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
