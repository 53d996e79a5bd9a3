// One chapter of the page at a time, chosen in the navigation. A link to anything inside a chapter
// opens it, and so does a hit of the browser's own search.

import { button, make } from "./dom.js";
import { readState } from "./state.js";

const HIDDEN = "until-found"; // hidden, but for the browser's search

/** What is answered has `offer()`, to be called when a chapter got other contents. */
export function startChapters() {
  const nav = document.querySelector("nav.chapters");
  const chapters = [...document.querySelectorAll(".chapter")];
  if (!nav || chapters.length === 0) return { offer: () => {} };
  return new Chapters(nav, chapters).start();
}

class Chapters {
  constructor(nav, chapters) {
    this.chapters = chapters;
    this.links = [...nav.querySelectorAll("a")];
    this.list = nav.querySelector("ul");
    this.opener = button("", () => this.#menu(this.opener.getAttribute("aria-expanded") !== "true"),
      { class: "chapters-open", "aria-controls": this.list.id });
    this.next = make("p", { class: "next-chapter" });
    nav.prepend(this.opener);
    document.getElementById("main").append(this.next);
    nav.addEventListener("click", (event) => this.#clicked(event));
    nav.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#menu(false)) this.opener.focus();
    });
    this.next.addEventListener("click", (event) => this.#clicked(event));
  }

  start() {
    this.#menu(false);
    this.offer();
    addEventListener("hashchange", () => this.#follow());
    for (const chapter of this.chapters) {
      chapter.addEventListener("beforematch", () => this.show(chapter));
    }
    this.#follow();
    return this;
  }

  /** Chapters with nothing to read are left out; another audit may have others. */
  offer() {
    for (const link of this.links) link.parentElement.hidden = empty(this.#chapterOf(link));
    const shown = this.shown && !empty(this.shown) ? this.shown : this.#offered()[0];
    if (shown) this.show(shown);
  }

  show(chapter) {
    this.shown = chapter;
    document.body.dataset.chapter = chapter.id;
    for (const each of this.chapters) {
      if (each === chapter) each.removeAttribute("hidden");
      else each.setAttribute("hidden", HIDDEN);
    }
    for (const link of this.links) {
      if (this.#chapterOf(link) === chapter) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.opener.textContent = chapter.getAttribute("aria-label");
    this.#continue(chapter);
  }

  #continue(chapter) {
    const offered = this.#offered();
    const following = offered[offered.indexOf(chapter) + 1];
    this.next.hidden = !following;
    if (!following) return;
    this.next.replaceChildren(make("a", { href: `#${following.id}` },
      `Next: ${following.getAttribute("aria-label")}`));
  }

  /** To the top of the page, where the browser alone would go to the chapter's. */
  #clicked(event) {
    const link = event.target.closest("a");
    if (!link) return;
    event.preventDefault();
    try {
      history.pushState(null, "", link.hash);
    } catch {
      // a page inside another page may not be allowed to; it works without an address
    }
    this.#menu(false);
    this.#open(this.#chapterOf(link));
  }

  #open(chapter) {
    this.show(chapter);
    scrollTo(0, 0);
    chapter.focus({ preventScroll: true });
  }

  /** What the address names: a chapter, something in it, or a text of the example browser. */
  #follow() {
    const target = document.getElementById(decoded(location.hash.slice(1)));
    const chapter = target?.closest(".chapter") ??
      (readState(location.hash) ? document.getElementById("examples") : null);
    if (!chapter || empty(chapter)) return;
    if (target === chapter) this.#open(chapter);
    else this.show(chapter);
    if (target && target !== chapter) target.scrollIntoView();
  }

  #chapterOf(link) {
    return document.getElementById(link.hash.slice(1));
  }

  #offered() {
    return this.chapters.filter((chapter) => !empty(chapter));
  }

  /** On a narrow screen the list is behind a button; whether that changed anything. */
  #menu(open) {
    const was = this.opener.getAttribute("aria-expanded") === "true";
    this.opener.setAttribute("aria-expanded", String(open));
    return was !== open;
  }
}

function empty(chapter) {
  return chapter.querySelector("h2, h3, p, #example-browser") === null;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
