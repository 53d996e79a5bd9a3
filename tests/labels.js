// Words in drawings that cannot be read: cut at an edge, or lying over each other.
() => {
  const found = [];
  const seen = (text) => text.textContent.trim() && Number(text.getAttribute("opacity") ?? 1) > 0
    && text.checkVisibility({ opacityProperty: true });
  for (const svg of document.querySelectorAll(".chart svg, .gauge, .x-curve")) {
    const own = svg.getBoundingClientRect();
    if (!svg.checkVisibility() || own.width === 0) continue;
    const spills = getComputedStyle(svg).overflow === "visible";
    const frame = spills ? svg.closest(".card, main").getBoundingClientRect() : own;
    const name = svg.closest("[data-chart]")?.dataset.chart ?? svg.getAttribute("class");
    const texts = [...svg.querySelectorAll("text")].filter(seen)
      .map((text) => ({ says: text.textContent, box: text.getBoundingClientRect() }));
    texts.forEach(({ says, box }, place) => {
      const out = Math.max(frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom);
      if (out > 1) found.push(`${name}: “${says}” is cut by ${out.toFixed(1)} pixels`);
      for (const other of texts.slice(0, place)) {
        const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (wide > 1.5 && high > 3) found.push(`${name}: “${says}” lies over “${other.says}”`);
      }
    });
  }
  return found;
}
