// What a chart's spec says in words: about one mark, and as a table of all that is drawn.

/** `series` are the legend's [words, colour]. The first row has the names of the columns. */
export function table(spec, series) {
  const rows = Object.values(spec.datasets ?? {}).flat();
  const told = spec.usermeta.fields;
  const kept = rows.filter((row) => told.some(([field]) => filled(row[field])));
  const coloured = kept.some((row) => seriesOf(row, series) !== "");
  const names = told.map(([field, title]) => title || field);
  const lines = kept.map((row) => told.map(([field]) => row[field] ?? null));
  if (!coloured) return [names, ...lines];
  return [["series", ...names], ...lines.map((line, i) => [seriesOf(kept[i], series), ...line])];
}

/** One mark: { names: what it is, lines: [title, value] }; null for what is only a guide. */
export function noteOf(spec, datum, series) {
  if (!belongs(spec, datum)) return null;
  const told = spec.usermeta.fields.filter(([field]) => filled(datum[field]));
  if (told.length === 0) return null;
  const names = told.filter(([, title]) => title === "").map(([field]) => String(datum[field]));
  const all = new Set([...names, seriesOf(datum, series)].filter(filled));
  const lines = joined(told.filter(([, title]) => title !== "")
    .map(([field, title]) => [title, shown(datum[field])]));
  return { names: [...all], colour: datum.colour ?? null, lines };
}

export function shown(value) {
  return typeof value === "number" ? String(value).replace("-", "−") : String(value);
}

/** `τ, low` and `τ, high` become one line; beside τ itself it is the interval. */
function joined(lines) {
  const titles = new Map(lines);
  return lines.flatMap(([title, value]) => {
    const [, stem, end] = /^(.*), (low|high)$/.exec(title) ?? [null, title, ""];
    const other = titles.get(`${stem}, high`);
    if (end === "" || other === undefined || !titles.has(`${stem}, low`)) return [[title, value]];
    if (end === "high") return [];
    return [[titles.has(stem) ? "interval" : stem, `${value} to ${other}`]];
  });
}

function seriesOf(row, series) {
  return series.find(([, colour]) => colour === row.colour)?.[0] ?? "";
}

/** Lines for the eye have data of their own, which are not the chart's. */
function belongs(spec, datum) {
  return Object.values(spec.datasets ?? {}).some((rows) => rows.length > 0 &&
    Object.keys(rows[0]).every((field) => field in datum));
}

function filled(value) {
  return value !== null && value !== undefined && value !== "";
}
