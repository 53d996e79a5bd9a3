// A text on the page: its words, those that are highlighted, or those a reader picks.
// Texts come from data: they enter the page as text nodes and as nothing else.

export function drawTexts(place, texts, top) {
  place.replaceChildren();
  const sides = Object.keys(texts);
  for (const side of sides) {
    const box = add(place, "div", "text");
    if (sides.length > 1) add(box, "h3").textContent = side === "a" ? "First text" : "Second text";
    const words = add(box, "p", "words");
    words.dir = "auto";
    for (const piece of texts[side]) drawPiece(words, piece, top);
  }
}

function drawPiece(words, piece, top) {
  const one = add(words, "bdi");
  one.textContent = piece.text;
  if (piece.word === undefined) return;
  one.dataset.word = piece.word;
  if (!top.includes(piece.word)) return;
  one.className = "top-word";
  one.setAttribute("role", "mark");
}

function add(parent, tag, name) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  parent.append(made);
  return made;
}

// Words to pick: a click, a drag across words, or the keyboard with one word in focus at a time.
export class Picker {
  constructor(place, chosen, changed) {
    this.chosen = new Set(chosen);
    this.changed = changed;
    this.words = [...place.querySelectorAll("bdi[data-word]")];
    this.place = 0;
    this.words.forEach((word, index) => this.prepare(word, index));
    place.querySelectorAll(".words").forEach((each) => each.classList.add("pick"));
    addEventListener("pointerup", () => { this.dragging = null; });
  }

  prepare(word, index) {
    word.setAttribute("role", "button");
    word.tabIndex = index === 0 ? 0 : -1;
    this.show(word);
    word.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      word.releasePointerCapture?.(event.pointerId);
      this.dragging = { to: !this.chosen.has(number(word)), from: index };
      this.go(index);
      this.set(index, this.dragging.to);
      event.preventDefault();
    });
    word.addEventListener("pointerenter", () => {
      if (!this.dragging) return;
      const [low, high] = [this.dragging.from, index].sort((a, b) => a - b);
      for (let each = low; each <= high; each += 1) this.set(each, this.dragging.to);
    });
    // A screen reader's click comes without a pointer; a pointer's was counted already.
    word.addEventListener("click", (event) => { if (event.detail === 0) this.flip(index); });
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      const here = this.place;
      this.go(here + step);
      if (event.shiftKey) for (const each of [here, this.place]) this.set(each, true);
      return true;
    }
    if (event.key !== " ") return false;
    this.flip(this.place);
    return true;
  }

  go(index) {
    const next = Math.min(Math.max(index, 0), this.words.length - 1);
    this.words[this.place].tabIndex = -1;
    this.place = next;
    this.words[next].tabIndex = 0;
    this.words[next].focus();
  }

  flip(index) {
    this.set(index, !this.chosen.has(number(this.words[index])));
  }

  set(index, on) {
    const word = this.words[index];
    if (on) this.chosen.add(number(word)); else this.chosen.delete(number(word));
    this.show(word);
    this.changed();
  }

  show(word) {
    word.setAttribute("aria-pressed", String(this.chosen.has(number(word))));
  }

  get value() {
    return [...this.chosen].sort((a, b) => a - b);
  }
}

function number(word) {
  return Number(word.dataset.word);
}
