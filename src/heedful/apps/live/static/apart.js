// Attention taken apart for somebody new to it, with the numbers of this text.

import { fill, make, word } from "./dom.js";
import { precise } from "./prediction.js";
import { said } from "./units.js";

/** Five steps, each with the numbers of the heaviest word, and the whole table below. */
export function apart(found, spec) {
  const top = heaviest(found);
  const unit = spec.units === "sentences" ? "sentence" : said("word");
  const steps = make("ol", { class: "steps" }, states(found, top, unit), scores(found, top),
    weights(found, top), contributions(found, top, unit), result(found));
  const box = make("div");
  const plain = make("p", { class: "caption" }, spec.heads > 1 && found.head === null
    ? "The learned weights, mean over the heads." : "With the learned weights.");
  fill(box, plain, make("div", { class: "beside" }, steps, table(found, top)));
  return box;
}

/** Of the words, where there are words: tokens of none are nothing to explain things with. */
function heaviest(found) {
  const worded = found.words.some((place) => place >= 0);
  const shares = found.weights.values.map((w, i) => (worded && found.words[i] < 0 ? -1 : w));
  return shares.indexOf(Math.max(...shares));
}

function step(title, ...text) {
  return make("li", {}, make("strong", {}, title), " ", ...text);
}

function states(found, top, unit) {
  if (!found.states) {
    return step("States.", `By the time it is attended, each ${unit} has become a list of `,
      `numbers, which also tells of the ${unit}s around it.`);
  }
  return step("States.", `The model reads the text, and each ${unit} becomes `,
    number(String(found.states.size)), ` numbers, which may also tell of the ${unit}s around it. `,
    name(found, top), " begins ", number(found.states.numbers[top].slice(0, 3).map(short).join(", ")),
    ", …");
}

function scores(found, top) {
  const { exact, formula, values, terms, count } = found.scores;
  if (!exact) return guessed(found, top);
  if (!terms) {
    return step("Scores.", name(found, top), " gets ", number(short(values[top])), ".");
  }
  const shown = `${short(terms[top][0])} ${signed(terms[top][1])}`;
  const others = values[top] - terms[top][0] - terms[top][1];
  return step("Scores.", "Each state gets one number: ", code(formula), ", a sum of ",
    number(String(count)), " terms. ", name(found, top), ": ",
    number(`${shown} ${signed(others)} (all the others) = ${short(values[top])}`), ".");
}

/** Logarithms of weights: a head's scores but for a constant; of a mean over heads, no scores. */
function guessed(found, top) {
  const { mean, values } = found.scores;
  const what = mean
    ? "Every head has scores of its own; choose one to see them. Here are the logarithms of the mean "
    : "The scores themselves are not kept; from the weights they are known up to a constant. Here are the logarithms of the ";
  return step("Scores.", said("A query is compared with each word (Q · K, divided by the root of their "),
    "length). ", what, "weights, less the largest: ", name(found, top), " has ",
    number(short(values[top])), ".");
}

function weights(found, top) {
  const { kind, powers, total, values } = found.weights;
  if (powers) {
    return step("Softmax.", "Each score s becomes ", code("eˢ"), " (less the largest score, so ",
      "that numbers stay small), and is divided by the sum of all. ", name(found, top), ": ",
      number(`${short(powers[top])} / ${short(total)} = ${short(values[top])}`),
      ". The weights sum to 1.");
  }
  return step(kind === "softmax" ? "Softmax." : `Weights (${kind}).`,
    "Scores become weights: ", name(found, top), " gets ", number(short(values[top])), ".");
}

function contributions(found, top, unit) {
  const { exact, values, products } = found.contributions;
  const label = word(found.contributions.class, { class: "name" });
  if (!exact) {
    return step("Contributions.", "A weight counts for as much as the vector it brings: weight × ",
      "length. ", name(found, top), ": ", number(`${short(found.weights.values[top])} × `
      + `${short(values[top])} = ${short(products[top])}`),
      ". What later layers make of it is not a sum, so these do not add up to the prediction.");
  }
  return step("Contributions.", `Alone, each ${unit} would say so much for `, label, ": its own ",
    "logit. Its weight decides how much of that is heard. ", name(found, top), ": ",
    number(`${short(found.weights.values[top])} × ${short(values[top])} = ${short(products[top])}`),
    ".");
}

function result(found) {
  const { exact, bias, sum } = found.contributions;
  const label = found.prediction.classes.find((each) => each.name === found.contributions.class);
  const chance = label ? precise(label.probability) : "";
  if (!exact) {
    return step("Prediction.", word(found.prediction.predicted, { class: "name" }), " with ",
      number(chance), ".");
  }
  const parts = `${short(sum - bias)} ${signed(bias)} (bias) = ${short(sum)}`;
  const last = found.prediction.logits.length > 2 ? "softmax over all classes" : "sigmoid";
  return step("Prediction.", "All contributions and the bias: ", number(parts), ", which the ",
    last, " turns into ", number(chance), " for ",
    word(found.contributions.class, { class: "name" }), ".");
}

function table(found, top) {
  const exact = found.contributions.exact;
  const heads = ["", found.states ? "state" : null, "score", found.weights.powers ? "eˢ" : null,
    "weight", exact ? "own logit" : "length", "contribution"].filter((each) => each !== null);
  const most = Math.max(1e-12, ...found.contributions.products.map(Math.abs));
  const rows = found.labels.map((label, i) => make("tr", { class: i === top ? "chosen" : "" },
    make("th", { scope: "row" }, word(label, { class: "clip" })),
    found.states ? make("td", {}, strip(found.states.numbers[i])) : null,
    cell(found.scores.values[i]), found.weights.powers ? cell(found.weights.powers[i]) : null,
    cell(found.weights.values[i]), cell(found.contributions.values[i]),
    make("td", { class: "n" }, short(found.contributions.products[i]),
      share(found.contributions.products[i], most))));
  const body = make("table", { class: "apart" });
  const titles = heads.map((title) => make("th", { scope: "col",
    class: title && title !== "state" ? "n" : "" }, title));
  fill(body, make("thead", {}, make("tr", {}, ...titles)), make("tbody", {}, ...rows),
    exact ? make("tfoot", {}, ...foot(found, heads.length)) : null);
  return make("div", { class: "scroll", tabindex: "0", role: "region",
    "aria-label": "all numbers" }, body);
}

function foot(found, width) {
  const { bias, sum } = found.contributions;
  const line = (title, value) => make("tr", {}, make("th", { scope: "row", colspan: width - 1 },
    title), make("td", { class: "n" }, short(value)));
  return [line("bias", bias), line("sum: the logit", sum)];
}

/** Some of a state's numbers as small cells. */
function strip(numbers) {
  const most = Math.max(1e-12, ...numbers.map(Math.abs));
  const cells = numbers.map((value) => {
    const cell = make("i", { class: value < 0 ? "down" : "" });
    cell.style.setProperty("--s", String(Math.round((100 * Math.abs(value)) / most)));
    return cell;
  });
  const box = make("span", { class: "strip", role: "img",
    "aria-label": `begins ${numbers.slice(0, 3).map(short).join(", ")}` }, ...cells);
  return box;
}

function share(value, most) {
  const bar = make("span", { class: value < 0 ? "share down" : "share" });
  bar.style.setProperty("--at", `${(100 * Math.abs(value)) / most}%`);
  return bar;
}

function cell(value) {
  return make("td", { class: "n" }, short(value));
}

function name(found, index) {
  return word(found.labels[index].slice(0, 40), { class: "name" });
}

function number(text) {
  return make("span", { class: "figure" }, text);
}

function code(text) {
  return make("code", {}, text);
}

function short(value) {
  const text = Math.abs(value) >= 1000 ? value.toExponential(1) : value.toFixed(3);
  return text.replace(/^-(0\.000)$/, "$1").replace("-", "−");
}

function signed(value) {
  return value < 0 ? `− ${short(-value)}` : `+ ${short(value)}`;
}
