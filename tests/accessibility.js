// Our rules for pages, checked by a browser: a list of sentences, empty where all is well.
() => {
  const found = [];
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && element.getClientRects().length > 0;
  const told = (element) => {
    const { tagName, id, className } = element;
    const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
    const kind = typeof className === "string" ? className.trim().split(/\s+/)[0] : "";
    return `<${tagName.toLowerCase()}${id ? `#${id}` : ""}${kind ? `.${kind}` : ""}> “${text}”`;
  };
  const complain = (sentence, element) => found.push(element ? `${sentence}: ${told(element)}` : sentence);

  // --- names ---------------------------------------------------------------------------------

  const SPEAKING = ["button", "link", "tab", "option", "menuitem", "checkbox", "radio", "switch"];
  const byIds = (element, attribute) => (element.getAttribute(attribute) || "").split(/\s+/).filter(Boolean);
  const spoken = (element) => {
    const copy = element.cloneNode(true);
    all("[aria-hidden=true]", copy).forEach((each) => each.remove());
    const images = all("img[alt], [aria-label]", copy).map((each) => each.getAttribute("alt") || each.ariaLabel);
    return [copy.textContent, ...images].join(" ").trim();
  };
  const speaksByContent = (element) => element.matches("button, a, summary, option, label")
    || SPEAKING.includes(element.getAttribute("role"));
  const name = (element) => {
    const others = byIds(element, "aria-labelledby").map((id) => document.getElementById(id)).filter(Boolean);
    const labels = element.labels ? [...element.labels] : [];
    const title = element.querySelector(":scope > title");
    return [...others.map(spoken), element.getAttribute("aria-label"), element.getAttribute("alt"),
      ...labels.map(spoken), speaksByContent(element) ? spoken(element) : "",
      title ? title.textContent : "", element.getAttribute("title")].map((each) => (each || "").trim()).find(Boolean) || "";
  };
  const CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [contenteditable], "
    + "[tabindex]:not([tabindex='-1']), [role=button], [role=slider], [role=link], [role=checkbox], [role=tab]";
  for (const each of all(CONTROLS)) if (shown(each) && !name(each)) complain("a control without a name", each);
  for (const each of all("img, svg[role=img], [role=img]")) {
    const silent = each.matches("img[alt='']") || each.closest("[aria-hidden=true]");
    if (shown(each) && !silent && !name(each)) complain("an image without a name", each);
  }

  // --- structure -----------------------------------------------------------------------------

  if (!document.documentElement.lang) complain("the page has no language");
  if (!document.title.trim()) complain("the page has no title");
  const ids = new Set();
  for (const each of all("[id]")) {
    if (ids.has(each.id)) complain("an id twice", each);
    ids.add(each.id);
  }
  for (const each of all("label[for]")) if (!ids.has(each.htmlFor)) complain("a label of nothing", each);
  for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls"]) {
    for (const each of all(`[${attribute}]`)) {
      if (byIds(each, attribute).some((id) => !ids.has(id))) complain(`${attribute} of nothing`, each);
    }
  }
  for (const each of all("[tabindex]")) if (each.tabIndex > 0) complain("an order of its own for the tab key", each);
  const headings = all("h1, h2, h3, h4, h5, h6").filter(shown);
  const level = (heading) => Number(heading.tagName.slice(1));
  const first = headings.filter((each) => level(each) === 1).length;
  if (first !== 1) complain(`${first} headings h1`);
  headings.forEach((each, place) => {
    if (place && level(each) > level(headings[place - 1]) + 1) complain("a heading skips a level", each);
  });
  for (const each of all("table")) if (shown(each) && !each.querySelector("th")) complain("a table without th", each);

  // --- targets -------------------------------------------------------------------------------

  const SMALLEST = 24;
  for (const each of all("button, select, summary, [role=button], [role=slider], input[type=checkbox], input[type=radio]")) {
    if (!shown(each) || getComputedStyle(each).display === "inline") continue; // inside of a sentence
    const boxes = [each, ...(each.labels || [])].map((part) => part.getBoundingClientRect());
    if (!boxes.some((box) => box.width >= SMALLEST - 0.5 && box.height >= SMALLEST - 0.5)) {
      complain(`a target of ${Math.round(boxes[0].width)} × ${Math.round(boxes[0].height)} px`, each);
    }
  }

  // --- contrast ------------------------------------------------------------------------------

  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const colour = (css) => { // red, green, blue, alpha, from 0 to 1
    if (!known.has(css)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = css;
      canvas.fillRect(0, 0, 1, 1);
      known.set(css, [...canvas.getImageData(0, 0, 1, 1).data].map((part) => part / 255));
    }
    return known.get(css);
  };
  const over = (top, below) => {
    const alpha = top[3] + below[3] * (1 - top[3]);
    if (!alpha) return [0, 0, 0, 0];
    const mixed = [0, 1, 2].map((i) => (top[i] * top[3] + below[i] * below[3] * (1 - top[3])) / alpha);
    return [...mixed, alpha];
  };
  const faded = (layer, opacity) => [...layer.slice(0, 3), layer[3] * opacity];
  const light = (layer) => layer.slice(0, 3)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const paper = colour(matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#ffffff");
  // The text and what is below it, both laid over every background outwards; null over a picture.
  const seen = (element) => {
    const style = getComputedStyle(element);
    let ink = colour(element instanceof SVGElement ? style.fill : style.color);
    let ground = [0, 0, 0, 0];
    for (let each = element; each; each = each.parentElement) {
      const own = getComputedStyle(each);
      if (own.backgroundImage !== "none" && ground[3] < 1) return null;
      const background = each instanceof SVGElement ? [0, 0, 0, 0] : colour(own.backgroundColor);
      [ink, ground] = [ink, ground].map((layer) => faded(over(layer, background), Number(own.opacity)));
    }
    return [over(ink, paper), over(ground, paper)];
  };
  const contrast = ([ink, ground]) => {
    const [dim, bright] = [light(ink), light(ground)].sort((a, b) => a - b);
    return (bright + 0.05) / (dim + 0.05);
  };
  const wanted = (element) => {
    const { fontSize, fontWeight } = getComputedStyle(element);
    const size = parseFloat(fontSize);
    return size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700) ? 3 : 4.5;
  };
  const idle = (element) => element.closest(":disabled, [aria-disabled=true], label:has(:disabled)");
  const hidden = (element) => element.closest(".hidden, .visually-hidden") !== null;
  const written = new Set(all("textarea, input:not([type=checkbox]):not([type=radio]), select"));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    const there = walker.currentNode.data.trim() && !parent.matches("script, style, noscript, title, option, textarea");
    if (there && range.getClientRects().length) written.add(parent);
  }
  for (const each of written) {
    if (!shown(each) || idle(each) || hidden(each)) continue;
    const layers = seen(each);
    const ratio = layers ? contrast(layers) : 21;
    if (ratio < wanted(each) - 0.005) complain(`a contrast of ${ratio.toFixed(2)} where ${wanted(each)} is needed`, each);
  }
  return found;
}
