// Answers token by token, each unpacked when a reader comes near.

import { AnswerView } from "./answers.js";
import { blob } from "./blobs.js";
import { fill, make } from "./dom.js";
import { whenNear } from "./near.js";

/** Places say which data is theirs (`data-answers`), and which one of several (`data-number`). */
export function startAnswers(root) {
  whenNear(root.querySelectorAll("[data-answers]"), start);
}

async function start(place) {
  const answers = await blob(place.dataset.answers);
  const answer = answers[Number(place.dataset.number ?? 0)];
  const key = make("p", { class: "caption" }, answer.tokens.length < answer.of
    ? `The first ${answer.tokens.length} of ${answer.of} tokens.` : "");
  fill(place, new AnswerView(answer).element, key.textContent ? key : null);
}
