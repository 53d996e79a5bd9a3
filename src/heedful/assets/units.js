// What is scored and removed: words, or another unit that the page is about.

/** A sentence about words, said of a unit: the page's, if none is given. */
export function said(text, unit = document.documentElement.dataset.unit ?? "word") {
  if (unit === "word") return text;
  return text.replace(/\b([Ww])ord(s?)\b/gu, (_, first, many) => {
    const letter = first === "W" ? unit[0].toUpperCase() : unit[0];
    return letter + unit.slice(1) + many;
  });
}
