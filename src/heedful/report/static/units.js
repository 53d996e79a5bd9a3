// What is scored and removed on this page: words, or another unit that all of its audits have.

/** A sentence about words, said of the page's unit. */
export function said(text) {
  const unit = document.documentElement.dataset.unit ?? "word";
  if (unit === "word") return text;
  return text.replace(/\b([Ww])ord(s?)\b/gu, (_, first, many) => {
    const letter = first === "W" ? unit[0].toUpperCase() : unit[0];
    return letter + unit.slice(1) + many;
  });
}
