// Which texts are listed, and in which order: pure functions of rows.
// A row is `{id, words, example, wrong, place}`.

const names = new Intl.Collator("en", { numeric: true });

/** Rows whose words or id hold every word that was typed, in any case, and that pass the filter:
 *  "all", "wrong", or "class:NUMBER" for a predicted class. */
export function matching(rows, typed, filter = "all") {
  const wanted = terms(typed);
  return rows.filter((row) => passes(row, filter)
    && (wanted.length === 0 || wanted.every((term) => haystack(row).includes(term))));
}

/** By "id", "confidence", "length" or a measure's name. A value that is missing comes last,
 *  whichever way; equals stay in the order of the data. */
export function sorted(rows, key, descending) {
  const sign = descending ? -1 : 1;
  return [...rows].sort((one, other) => compared(one, other, key, sign) || one.place - other.place);
}

/** What a row is sorted by; what was measured goes before what the page can count. */
export function valueOf(row, key) {
  const measured = row.example.m?.[key];
  if (Number.isFinite(measured)) return measured;
  if (key === "id") return row.id;
  if (key === "length") return row.words.length;
  return key === "confidence" ? row.example.c : undefined;
}

/** The first word that holds something of what was typed, or −1. */
export function firstHit(row, typed) {
  const wanted = terms(typed);
  return row.words.findIndex((each) => wanted.some((term) => folded(each).includes(term)));
}

function compared(one, other, key, sign) {
  const a = valueOf(one, key);
  const b = valueOf(other, key);
  if (key === "id") return sign * names.compare(a, b);
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  return sign * (a - b);
}

function missing(value) {
  return Number.isFinite(value) ? 0 : 1;
}

function passes(row, filter) {
  if (filter === "wrong") return row.wrong;
  if (filter.startsWith("class:")) return row.example.p === Number(filter.slice(6));
  return true;
}

function terms(typed) {
  return folded(typed).split(/\s+/u).filter((term) => term);
}

function haystack(row) {
  row.folded ??= folded(`${row.words.join(" ")} ${row.other ?? ""} ${row.id}`);
  return row.folded;
}

function folded(text) {
  return text.normalize("NFC").toLowerCase();
}
