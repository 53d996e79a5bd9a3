// Results while they come in: asked for again every few seconds.

import { Refused, get, token } from "/static/server.js";

const EVERY = 4000;
const SHOWN_PAIRS = 30;
const at = (id) => document.getElementById(id);
const ROWS = [["correct", "right"], ["wrong", "wrong"]];
const COLUMNS = [["meaningful", "Relevant"], ["not_meaningful", "Not relevant"]];
const TITLES = { original: "The model’s own weights", permuted: "Permuted weights" };

let last = "";
look();

async function look() {
  try {
    const found = await get("/api/results", token("key"));
    const now = JSON.stringify(found);
    if (now !== last) draw(found);
    last = now;
    say("");
  } catch (error) {
    if (error instanceof Refused) { say(error.message, true); return; }
    say("The server does not answer. Trying again …", true);
  }
  setTimeout(look, EVERY);
}

function draw(found) {
  const { study } = found;
  const given = found.progress.reduce((sum, each) => sum + each.answered, 0);
  at("about").textContent = `${study.family} on ${study.source}: ${count(found.items, "item")}, ` +
    `${count(found.progress.length, "annotator")}, ${count(given, "answer")}.`;
  at("figures").hidden = found.task !== "relevance";
  at("agreed").hidden = at("people").hidden = false;
  if (found.task === "relevance") drawFigures(found);
  drawAgreement(found);
  drawPeople(found);
}

function drawFigures(found) {
  const names = Object.keys(found.published).join(" and ");
  at("figure-note").textContent = "Per cent of all yes and no answers, with 95 % intervals (Wilson, over texts). " +
    `Below each: what Vashishth et al. (2019, Figure 5) print for ${names}` +
    (found.same_corpus ? "." : ", which are other data.");
  at("tables").replaceChildren(...Object.keys(TITLES).map((shown) => figure(found, shown)));
}

function figure(found, shown) {
  const card = make("div", "card");
  card.append(make("h3", "", TITLES[shown]));
  const table = make("table", "cells");
  table.append(head(["Prediction", ...COLUMNS.map(([, name]) => name)]));
  const body = make("tbody");
  for (const [right, name] of ROWS) {
    const row = make("tr");
    row.append(header(name));
    for (const [relevant] of COLUMNS) row.append(cell(found, shown, `${right}+${relevant}`));
    body.append(row);
  }
  table.append(body);
  table.setAttribute("aria-label", TITLES[shown]);
  const answers = found.figure5.filter((each) => each.shown === shown).reduce((n, each) => n + each.answers, 0);
  card.append(table, make("p", "soft", `${count(answers, "answer")}, and ${found.unsure[shown]} unsure.`));
  return card;
}

function cell(found, shown, name) {
  const one = found.figure5.find((each) => each.shown === shown && each.cell === name);
  const box = make("td");
  if (one.percent !== null) box.classList.add(`shade${Math.min(4, Math.ceil(one.percent / 25))}`);
  box.append(make("span", "big", one.percent === null ? "–" : `${one.percent.toFixed(1)}\u00a0%`));
  if (one.low !== null) box.append(make("span", "small", `${one.low.toFixed(1)} to ${one.high.toFixed(1)}`));
  for (const [dataset, printed] of Object.entries(found.published)) {
    box.append(make("span", "small", `${dataset}:\u00a0${printed[`${shown}:${name}`]}\u00a0%`));
  }
  return box;
}

function drawAgreement(found) {
  const { agreement } = found;
  const known = Object.entries(found.published || {}).map(([name, each]) => `${name}: ${each.cohen_kappa}`);
  const interval = agreement.low === null ? "" : `${fixed(agreement.low)} to ${fixed(agreement.high)}`;
  const unit = found.task === "relevance" ? "" : ", word by word";
  at("numbers").replaceChildren(
    number(`Krippendorff’s α, all annotators${unit}`, agreement.alpha, interval),
    number(`Cohen’s κ, mean of ${count(agreement.pairs.length, "pair")}${unit}`, agreement.mean_kappa,
      known.length ? `published ${known.join(", ")}` : ""));
  const rows = agreement.pairs.filter((pair) => pair.items).slice(0, SHOWN_PAIRS);
  at("pairs").replaceChildren();
  if (!rows.length) return;
  const table = make("table");
  table.append(head(["Annotators", "Items both answered", "Cohen’s κ"], 1));
  const body = make("tbody");
  for (const pair of rows) {
    const row = make("tr");
    row.append(header(`${pair.one} and ${pair.other}`), make("td", "n", String(pair.items)), make("td", "n", fixed(pair.kappa)));
    body.append(row);
  }
  table.append(body);
  at("pairs").append(table);
}

function drawPeople(found) {
  at("progress").replaceChildren(...found.progress.map((each) => {
    const line = make("li");
    const bar = make("progress");
    bar.max = found.items;
    bar.value = each.answered;
    bar.setAttribute("aria-label", `${each.annotator}, items answered`);
    line.append(make("span", "", each.annotator), make("span", "soft", `${each.answered} of ${found.items}`), bar);
    return line;
  }));
}

function number(name, value, note) {
  const box = make("div");
  box.append(make("span", "big", fixed(value)), make("span", "", name), make("span", "small", note));
  return box;
}

function head(names, numeric = Infinity) {
  const row = make("tr");
  names.forEach((name, index) => {
    const one = make(name ? "th" : "td", index >= numeric ? "n" : "", name);
    if (name) one.scope = "col";
    row.append(one);
  });
  const made = make("thead");
  made.append(row);
  return made;
}

function header(name) {
  const one = make("th", "", name);
  one.scope = "row";
  return one;
}

function make(tag, name = "", text = "") {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

function fixed(value) {
  return value === null ? "–" : value.toFixed(3).replace("-", "−");
}

function count(n, name) {
  return `${n} ${name}${n === 1 ? "" : "s"}`;
}

function say(text, bad = false) {
  at("status").textContent = text;
  at("status").classList.toggle("bad", bad);
}
