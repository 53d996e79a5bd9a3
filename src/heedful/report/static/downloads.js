// Files that a page makes itself: tables as CSV and LaTeX, and whatever else is handed to it.

const NUMBER = /^(?:[-+−]?[\d.,]+%?(?: (?:±|to) [-+−]?[\d.,]+%?)?|undefined)$/;
const RUNS = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const SPECIAL = new Map(Object.entries({
  "\\": "\\textbackslash{}", "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_",
  "{": "\\{", "}": "\\}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
  "<": "\\textless{}", ">": "\\textgreater{}", "τ": "$\\tau$", "±": "$\\pm$", "−": "$-$",
}));

/** Rows of cells as CSV, the first one the names. Numbers keep all their digits. */
export function csv(rows) {
  return rows.map((row) => `${row.map(csvCell).join(",")}\n`).join("");
}

/** The same as a booktabs tabular; numbers to three decimals, to the right. */
export function latex(rows) {
  const [names, ...lines] = rows;
  const columns = names.map((_, place) => column(lines.map((line) => line[place])));
  const layout = columns.map((cells) => (numeric(cells) ? "r" : "l")).join("");
  const body = lines.map((_, line) => latexRow(columns.map((cells) => cells[line])));
  return [`\\begin{tabular}{${layout}}`, "\\toprule", latexRow(names), "\\midrule", ...body,
    "\\bottomrule", "\\end{tabular}", ""].join("\n");
}

/** Text as LaTeX prints it: no command survives, nor does a control character. */
export function latexEscape(text) {
  return [...text].filter((letter) => !/\p{C}/u.test(letter))
    .map((letter) => SPECIAL.get(letter) ?? letter).join("");
}

/** A name that every file system takes. */
export function fileName(text) {
  const plain = text.normalize("NFKD").toLowerCase().replace(/[^a-z0-9_]+/g, "-");
  return plain.replace(/^-+|-+$/g, "").slice(0, 80) || "heedful";
}

/** Offer a file; `content` is text or a blob. */
export function save(name, mime, content) {
  const url = URL.createObjectURL(new Blob([content], { type: mime }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Both texts of a table, for a menu. */
export function tableFiles(name, rows) {
  return [
    ["CSV", async () => save(`${name}.csv`, "text/csv;charset=utf-8", csv(await rows()))],
    ["LaTeX", async () => save(`${name}.tex`, "text/x-tex;charset=utf-8", latex(await rows()))],
  ];
}

/** A spreadsheet runs a cell that begins like a formula: an apostrophe says that this is text, as
 *  in `store/tables.py`. */
function csvCell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = RUNS.test(text) && typeof value !== "number" && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function column(cells) {
  const whole = cells.every((cell) => typeof cell !== "number" || Number.isInteger(cell));
  return cells.map((cell) => {
    if (cell === null || cell === undefined) return "";
    return typeof cell === "number" && !whole ? cell.toFixed(3) : String(cell);
  });
}

function numeric(cells) {
  const filled = cells.filter((cell) => cell !== "");
  return filled.length > 0 && filled.every((cell) => NUMBER.test(cell));
}

function latexRow(cells) {
  return `${cells.map((cell) => latexEscape(String(cell))).join(" & ")} \\\\`;
}
