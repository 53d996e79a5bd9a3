// The browser's state in the page's address. Other anchors of the page are left alone.

const NAMES = ["text", "model", "left", "right", "from", "weights", "shuffle"];

/** `{text, model, left, right, from, weights, shuffle}`, or null for any other anchor. */
export function readState(hash) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  if (!found.get("model") && !found.get("text")) return null;
  return Object.fromEntries(NAMES.map((name) => [name, found.get(name) || null]));
}

export function writeState(state) {
  const out = new URLSearchParams();
  for (const name of NAMES) {
    const value = state[name] ?? "";
    if (value !== "") out.set(name, value);
  }
  return `#${out}`;
}
