// Answers token by token, each unpacked when a reader comes near.

import { AnswerView } from "./answers.js";
import { blob } from "./blobs.js";
import { fill, make } from "./dom.js";

const NEAR = "400px";

/** Places say which data is theirs (`data-answers`), and which one of several (`data-number`). */
export function startAnswers(root) {
  const watch = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      watch.unobserve(target);
      start(target);
    }
  }, { rootMargin: NEAR });
  root.querySelectorAll("[data-answers]").forEach((place) => watch.observe(place));
}

async function start(place) {
  const answers = await blob(place.dataset.answers);
  const answer = answers[Number(place.dataset.number ?? 0)];
  const key = make("p", { class: "caption" }, answer.tokens.length < answer.of
    ? `The first ${answer.tokens.length} of ${answer.of} tokens.` : "");
  fill(place, new AnswerView(answer).element, key.textContent ? key : null);
}
