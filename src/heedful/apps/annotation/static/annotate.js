// One item at a time. The page goes on only after the server has said that an answer is saved.

import { Refused, get, post, token } from "/static/server.js";
import { Picker, drawTexts } from "/static/text.js";

const key = token("annotator");
const at = (id) => document.getElementById(id);
const page = { study: null, item: null, place: 0, picker: null, busy: false };

const RELEVANCE = {
  question: "Are the highlighted words relevant to this prediction?",
  keys: [["y", "Yes"], ["n", "No"], ["u", "Unsure"], ["← →", "Back and ahead"]],
};
const RATIONALE = {
  question: "Pick the words that are the reason.",
  keys: [["← →", "Move among the words"], ["Space", "Pick a word, or leave it out"],
    ["Shift + ← →", "Pick several"], ["Enter", "Save and go on"], ["j k", "Ahead and back"]],
};
const KICKERS = { prediction: "The model predicts", label: "This text is labelled" };
const ALWAYS = [["z", "Undo the last answer"], ["o", "Go to the first unanswered item"], ["?", "This help"]];
const ANSWERS = [["yes", "Yes", "y"], ["no", "No", "n"], ["unsure", "Unsure", "u"]];

start();

async function start() {
  try {
    page.study = await get("/api/study", key);
  } catch (error) {
    say(error instanceof Refused ? sentence(error) : "The server does not answer. Is it running?", true);
    document.querySelectorAll("nav button").forEach((each) => { each.disabled = true; });
    return;
  }
  drawFrame();
  listen();
  await go(page.study.next ?? page.study.total);
}

function words() {
  return page.study.task === "relevance" ? RELEVANCE : RATIONALE;
}

function drawFrame() {
  at("who").textContent = page.study.annotator;
  at("question").textContent = words().question;
  for (const [name, told] of [...words().keys, ...ALWAYS]) {
    const term = document.createElement("dt");
    for (const one of name.split(" ")) {
      const made = document.createElement(one === "+" ? "span" : "kbd");
      made.textContent = one;
      term.append(made, " ");
    }
    const meaning = document.createElement("dd");
    meaning.textContent = told;
    at("key-list").append(term, meaning);
  }
  at("answers").classList.toggle("one", page.study.task !== "relevance");
  const buttons = page.study.task === "relevance" ? ANSWERS : [["save", "", "Enter"]];
  for (const [name, label, letter] of buttons) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = name;
    button.dataset.value = name;
    button.setAttribute("aria-keyshortcuts", letter);
    const shown = document.createElement("span");
    shown.textContent = label;
    const hint = document.createElement("kbd");
    hint.textContent = letter;
    hint.setAttribute("aria-hidden", "true");
    button.append(shown, hint);
    button.addEventListener("click", () => answer(name));
    at("answers").append(button);
  }
}

function listen() {
  at("back").addEventListener("click", () => go(page.place - 1));
  at("ahead").addEventListener("click", () => go(page.place + 1));
  at("open").addEventListener("click", () => go(page.study.next ?? page.study.total));
  at("undo").addEventListener("click", undo);
  at("help").addEventListener("click", () => at("keys").showModal());
  at("close").addEventListener("click", () => at("keys").close());
  addEventListener("keydown", typed);
}

function typed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || at("keys").open) return;
  if (event.key === "?") at("keys").showModal();
  else if (!command(event)) return;
  event.preventDefault();
}

function command(event) {
  const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const act = { z: undo, o: () => go(page.study.next ?? page.study.total),
    j: () => go(page.place + 1), k: () => go(page.place - 1) }[pressed];
  if (act) { act(); return true; }
  if (page.picker) return picking(event);
  const chosen = ANSWERS.find(([, , letter]) => letter === pressed);
  if (chosen && page.item) { answer(chosen[0]); return true; }
  if (pressed === "ArrowLeft") { go(page.place - 1); return true; }
  if (pressed === "ArrowRight") { go(page.place + 1); return true; }
  return false;
}

function picking(event) {
  const button = document.activeElement?.tagName === "BUTTON";
  if (event.key === "Enter" && !button) { answer("save"); return true; }
  if (event.key === " " && button) return false;
  return page.picker.key(event);
}

async function go(place) {
  if (page.busy || place < 0 || place > page.study.total) return;
  page.picker = null;
  page.item = null;
  page.place = place;
  if (place < page.study.total) {
    try {
      const item = await get(`/api/items/${place}`, key);
      if (page.place !== place) return; // another key was faster than this item
      page.item = item;
    } catch (error) {
      say(error instanceof Refused ? sentence(error) : "The server does not answer. Try again.", true);
      return;
    }
  }
  say("");
  draw();
}

function draw() {
  const { item, study } = page;
  at("item").hidden = !item;
  at("done").hidden = Boolean(item) || study.next !== null;
  at("progress").max = study.total;
  at("progress").value = study.answered;
  at("count").textContent = `${item ? `Item ${item.place + 1} · ` : ""}${study.answered} of ${study.total} answered`;
  at("back").disabled = page.place === 0;
  at("ahead").disabled = page.place >= study.total - (study.next === null ? 0 : 1);
  at("open").disabled = study.next === null;
  at("undo").disabled = study.answered === 0;
  if (item) drawItem(item); else at("done").focus();
}

function drawItem(item) {
  document.title = `Item ${item.place + 1} of ${page.study.total}`;
  at("kicker").textContent = KICKERS[item.of];
  at("class").textContent = item.class;
  drawTexts(at("texts"), item.texts, item.top);
  if (page.study.task !== "relevance") {
    page.picker = new Picker(at("texts"), item.value ?? [], drawPicked);
    drawPicked();
  }
  for (const button of at("answers").children) {
    if (!page.picker) button.setAttribute("aria-pressed", String(button.dataset.value === item.value));
  }
  scrollTo(0, 0);
  at("class").setAttribute("aria-label",
    `Item ${item.place + 1} of ${page.study.total}. ${KICKERS[item.of]}: ${item.class}.`);
  at("class").focus({ preventScroll: true });
}

function drawPicked() {
  const count = page.picker.value.length;
  const said = count === 0 ? "No word is the reason" : `Save ${count} ${count === 1 ? "word" : "words"}`;
  at("answers").querySelector("span").textContent = said;
  at("answers").querySelector("button").classList.toggle("none", count === 0);
}

async function answer(name) {
  if (page.busy || !page.item) return;
  const { item } = page;
  const value = name === "save" ? page.picker.value : name;
  const body = { item: item.item, value, before: item.value };
  const saved = await ask("/api/answers", body);
  if (!saved) return;
  const next = page.place + 1;
  await go(saved.next === null ? page.study.total : Math.min(next, page.study.total - 1) === page.place ? saved.next : next);
  say(`Saved. ${saved.answered} of ${saved.total} answered.`);
}

async function undo() {
  if (page.busy || !page.study.answered) return;
  const done = await ask("/api/undo", {});
  if (!done) return;
  if (done.undone === null) { say("There is nothing to undo."); return; }
  await go(done.undone);
  say("The last answer was taken back.");
}

// null where the server refused; what it says is shown.
async function ask(path, body) {
  page.busy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    const got = await post(path, key, body, () => say("Not saved yet: the server does not answer. Trying again …", true));
    Object.assign(page.study, { answered: got.answered, total: got.total, next: got.next });
    return got;
  } catch (error) {
    await refused(error);
    return null;
  } finally {
    page.busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

async function refused(error) {
  page.busy = false;
  if (error.status === 409) await go(page.place);
  say(sentence(error), true);
}

function sentence(error) {
  const text = error.message;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function say(text, bad = false) {
  at("status").textContent = text;
  at("status").classList.toggle("bad", bad);
}
