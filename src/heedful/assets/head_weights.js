// Attention weights of every head, from bytes; tokens become words, or are left out, as asked.

const LEVELS = 255; // a byte is the square root of a weight, in so many steps

/** The text of one side as it is shown: units with their label, word, part and tokens. */
export function unitsOf(side, words, special) {
  const units = [];
  side.tokens.forEach((label, token) => {
    const word = side.words[token];
    const last = units[units.length - 1];
    const goesOn = word >= 0 && token > 0 && side.words[token - 1] === word;
    if (words && goesOn) last.tokens.push(token);
    else {
      units.push({ label: words && word >= 0 ? side.surface[word] : label, goesOn,
        special: Boolean(side.special[token]), part: side.parts[token], tokens: [token] });
    }
  });
  return special ? units : units.filter((unit) => !unit.special);
}

/** Whether any word has several tokens. */
export function hasSubWords(sides) {
  return Object.values(sides).some((side) =>
    side.words.some((word, token) => word >= 0 && side.words[token - 1] === word));
}

export class HeadWeights {
  constructor(data) {
    this.bytes = Uint8Array.from(atob(data.weights), (letter) => letter.charCodeAt(0));
    this.sides = data.sides;
    this.sites = data.sites.map((site) => ({ ...site }));
    let start = 0;
    for (const site of this.sites) {
      site.start = start;
      start += site.heads * this.count(site.queries) * this.count(site.keys);
    }
  }

  count(side) {
    return this.sides[side].tokens.length;
  }

  weight(site, head, query, key) {
    const [rows, columns] = [this.count(site.queries), this.count(site.keys)];
    return (this.bytes[site.start + (head * rows + query) * columns + key] / LEVELS) ** 2;
  }

  /** What units attend to: summed over the tokens of a key, the mean over those of a query. */
  matrix(site, head, queries, keys) {
    return queries.map((query) => Float32Array.from(keys, (key) => {
      let total = 0;
      for (const row of query.tokens) {
        for (const column of key.tokens) total += this.weight(site, head, row, column);
      }
      return total / query.tokens.length;
    }));
  }
}

/** Numbers from 0 to 1 that tell heads apart: means over the tokens that attend, special ones
 *  left out; `fits` says where a number means something. */
export const SUMMARIES = [
  { key: "largest", name: "largest weight", about: "the heaviest weight of a token",
    fits: () => true, of: (row) => Math.max(0, ...row) },
  { key: "special", name: "special tokens", about: "what goes to special tokens such as [SEP]",
    fits: (queries, keys) => keys.some((key) => key.special),
    of: (row, keys) => total(row, (column) => keys[column].special) },
  { key: "previous", name: "token before", about: "what goes to the token before",
    fits: (queries, keys, own) => own, of: (row, keys, place) => row[place - 1] ?? 0 },
  { key: "itself", name: "token itself", about: "what goes to the token itself",
    fits: (queries, keys, own) => own, of: (row, keys, place) => row[place] },
  { key: "next", name: "token after", about: "what goes to the token after",
    fits: (queries, keys, own) => own, of: (row, keys, place) => row[place + 1] ?? 0 },
  { key: "other", name: "other text", about: "what goes to the other text of the pair",
    fits: (queries, keys, own) => own && keys.some((key) => key.part),
    of: (row, keys, place) => total(row,
      (column) => !keys[column].special && keys[column].part !== keys[place].part) },
];

export function summary(weights, site, head, by) {
  const queries = unitsOf(weights.sides[site.queries], false, true);
  const keys = unitsOf(weights.sides[site.keys], false, true);
  if (!by.fits(queries, keys, site.queries === site.keys)) return null;
  const matrix = weights.matrix(site, head, queries, keys);
  const rows = queries.map((query, place) => (query.special ? null : by.of(matrix[place], keys, place)));
  const counted = rows.filter((value) => value !== null);
  return counted.length ? counted.reduce((sum, value) => sum + value, 0) / counted.length : null;
}

function total(row, takes) {
  return row.reduce((sum, weight, column) => sum + (takes(column) ? weight : 0), 0);
}
