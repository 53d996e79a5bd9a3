// The texts and what was found about them, read from the page when they are asked for.

import { blob } from "./blobs.js";
import { linearOf } from "./presets.js";

const HUMAN = { key: "human", title: "marked by people", signed: false, kind: "human" };

export async function openData() {
  return new Data(await blob("examples"));
}

class Data {
  constructor(index) {
    this.cells = index.cells;
    this.corpora = index.corpora;
    this.texts = new Map();
    this.opened = new Map();
  }

  corpusOf(cell) {
    return this.corpora.find((corpus) => corpus.key === cell.corpus);
  }

  find(key) {
    return this.cells.find((cell) => cell.key === key);
  }

  /** Other models that may have read the same text. */
  besides(cell) {
    return this.cells.filter((each) => each.corpus === cell.corpus && each.key !== cell.key);
  }

  /** `{facts, corpus, rows, measures}`, measures being those some text has; unpacked once. */
  open(key) {
    if (!this.opened.has(key)) this.opened.set(key, this.#open(this.find(key)));
    return this.opened.get(key);
  }

  async #open(facts) {
    const corpus = this.corpusOf(facts);
    const [texts, found] = await Promise.all([this.#read(corpus.texts), blob(facts.blob)]);
    const rows = found.examples.map((example, place) => rowOf(texts[example.t], example, place));
    const measures = facts.measures.filter(({ key }) => rows.some((row) => Number.isFinite(row.example.m?.[key])));
    return { facts, corpus, rows, measures };
  }

  #read(name) {
    if (!this.texts.has(name)) this.texts.set(name, blob(name).then((found) => found.texts));
    return this.texts.get(name);
  }
}

/** `first` is the number of words before the second text of a pair. */
function rowOf(text, example, place) {
  const first = text.a ?? text.w.length;
  return {
    id: String(text.id), words: text.w, first, label: text.y ?? -1,
    other: attends(example, first) ? null : text.b ?? null,
    marks: text.r ?? null, about: text.about ?? [], all: text.cut ?? text.w.length,
    wrong: (text.y ?? -1) >= 0 && text.y !== example.p, example, place,
  };
}

/** Whether some map speaks of words of the second text. */
function attends(example, first) {
  return Object.values(example.maps ?? {}).some((scores) => scores.slice(first).some((score) => score !== null));
}

/** The maps this text has, in the model's order, people's marks last. */
export function mapsOf(cell, row) {
  const own = cell.facts.maps.filter((map) => row.example.maps?.[map.key])
    .map((map) => ({ ...map, owner: cell.facts.key, scores: row.example.maps[map.key] }));
  const marked = row.marks?.some((mark) => mark > 0);
  return marked ? [...own, { ...HUMAN, scores: row.marks }] : own;
}

export function dragged(row) {
  return linearOf(row.words, row.example);
}

export function className(corpus, number) {
  return corpus.classes?.[number] ?? `class ${number}`;
}

/** "bilstm-additive, seed 0", the seed only where it tells models apart. */
export function cellName(data, facts) {
  const alike = data.cells.filter((each) => each.corpus === facts.corpus && each.model === facts.model);
  return alike.length > 1 ? `${facts.model}, ${runName(facts, alike)}` : facts.model;
}

/** "seed 0", with "audit" or "study" where seeds do not tell them apart; an audit by its own name. */
export function runName(facts, alike) {
  if (!facts.seed) return facts.run ?? facts.source;
  const twice = alike.some((each) => each.source !== facts.source);
  return twice ? `${facts.source}, seed ${facts.seed}` : `seed ${facts.seed}`;
}
