// The order of a column's cells: numbers by size, texts by letters, what says nothing last.

const NUMBER = /^[-+−]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?/i;
const NOTHING = new Set(["", "–", "-", "undefined", "not asked"]);

/** A cell's number: the first thing it says, as in `0.41 ± 0.20` and `<0.001`; null if none. */
export function numberIn(text) {
  const found = NUMBER.exec(text.replace(/^[<>≈]\s*/, ""));
  return found ? Number(found[0].replace("−", "-").replaceAll(",", "")) : null;
}

/** `entries` have a `text`; the order of equal ones is kept. */
export function byColumn(entries, descending) {
  const told = entries.filter(({ text }) => !NOTHING.has(text));
  const silent = entries.filter(({ text }) => NOTHING.has(text));
  const numeric = told.every(({ text }) => numberIn(text) !== null);
  const way = descending ? -1 : 1;
  const compare = numeric
    ? (a, b) => numberIn(a.text) - numberIn(b.text)
    : (a, b) => a.text.localeCompare(b.text, "en", { numeric: true });
  return [...told.sort((a, b) => way * compare(a, b)), ...silent];
}
