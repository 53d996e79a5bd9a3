// An answer that a model wrote, token by token: a chosen token shades what it rests on.

import { choice, fill, make, word } from "./dom.js";
import { shaded } from "./shades.js";
import { said } from "./units.js";

const WHOLE = -1; // instead of the number of a token
const NAMED = 5;
const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

export class AnswerView {
  /** `answer` has `words` (as `shaded` wants them), the `tokens` of the answer, and `maps`:
   *  {key, title, whole: scores of the words, rows: scores for each token}. Scores that are not there
   *  are asked for: `answer.ask(key)` gives {whole, scores, reason}. `before` is a view of another
   *  text: the same explanation is looked at, and of the same answer the same token. */
  constructor(answer, before = null) {
    Object.assign(this, { answer, token: WHOLE, known: new Map() });
    this.map = answer.maps.find((map) => map.key === before?.map?.key) ?? answer.maps[0];
    this.tools = make("div", { class: "tools" });
    this.tokens = make("div", { class: "answer-tokens", role: "radiogroup", "aria-label": "Token of the answer" });
    this.says = make("p", { class: "answer-says", "aria-live": "polite" });
    this.text = make("div");
    this.element = make("div", { class: "answer-view" }, this.tools, this.tokens, this.says, this.text);
    this.buttons = this.#buttons();
    fill(this.tokens, ...this.buttons);
    this.tokens.addEventListener("keydown", (event) => this.#key(event));
    this.#drawTools();
    const same = before?.answer.tokens.join("\n") === answer.tokens.join("\n");
    this.choose(same ? before.token : WHOLE);
  }

  /** A token by its number, or all of them. */
  choose(token) {
    this.token = token;
    this.buttons.forEach((button, place) => {
      const chosen = place - 1 === token;
      button.setAttribute("aria-checked", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    });
    return this.#draw();
  }

  #buttons() {
    const one = (token, label, name, kind) => make("button", { type: "button", role: "radio", class: `answer-token${kind}`,
      "aria-label": name, onclick: () => this.choose(token) }, label);
    return [one(WHOLE, "whole answer", "whole answer", " answer-whole"),
      ...this.answer.tokens.map((token, place) =>
        one(place, word(spelled(token)), `token ${place + 1}: ${spelled(token)}`, ""))];
  }

  #drawTools() {
    const { maps } = this.answer;
    fill(this.tools, maps.length < 2 ? null : choice("Explanation", maps.map((map) => [map.key, map.title]),
      this.map.key, (key) => {
        this.map = maps.find((map) => map.key === key);
        this.#draw();
      }));
    this.tools.hidden = maps.length < 2;
  }

  async #draw() {
    const { map, token } = this;
    const found = await this.#scores(map, token);
    if (map !== this.map || token !== this.token) return; // another was chosen meanwhile
    const { words, tokens } = this.answer;
    const name = token === WHOLE ? ["The whole answer"] : [word(spelled(tokens[token]), { class: "name" })];
    fill(this.text, found.scores ? shaded(words, found.scores) : null);
    if (found.scores) fill(this.says, ...name, ...rests(words, found.scores));
    else fill(this.says, found.reason);
  }

  async #scores(map, token) {
    if (map.rows) return { scores: token === WHOLE ? map.whole : map.rows[token] };
    if (!this.known.has(map.key)) {
      fill(this.says, "asking …");
      this.known.set(map.key, await this.answer.ask(map.key));
    }
    const { whole, scores, reason } = this.known.get(map.key);
    if (!scores) this.known.delete(map.key); // the next click tries again
    return { scores: token === WHOLE ? whole : scores?.[token], reason };
  }

  #key(event) {
    const here = this.token + 1;
    const last = this.buttons.length - 1;
    const to = { Home: 0, End: last }[event.key] ?? here + (STEPS[event.key] ?? NaN);
    if (!this.buttons[to]) return;
    event.preventDefault();
    this.buttons[to].focus();
    this.choose(to - 1);
  }
}

/** The words with the largest scores, for or against. */
function rests(words, scores) {
  const order = scores.map((score, place) => [score ?? 0, place])
    .filter(([score]) => Math.abs(score) >= 5e-4).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, NAMED);
  if (order.length === 0) return [said(" rests on no word.")];
  const told = order.flatMap(([score, place], i) => [i ? ", " : " ", word(words[place].text, { class: "name" }),
    ` ${score.toFixed(3).replace("-", "−")}`]);
  return [" rests most on", ...told, "."];
}

/** Blanks and line breaks can be seen. */
function spelled(token) {
  return token.trim() || token.replaceAll("\n", "↵").replaceAll(" ", "␣") || "␣";
}
