// The page's state in its address: text, and for each model its site, head and weights.

export function read(hash) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const models = [0, 1].map((number) => ({
    site: found.get(`site${number}`),
    head: found.get(`head${number}`),
    queries: found.get(`queries${number}`),
    weights: found.get(`weights${number}`),
  }));
  return {
    text: texts(found.getAll("text")),
    text_b: found.get("text_b"),
    beside: found.get("beside"),
    models,
  };
}

export function write(state) {
  const out = new URLSearchParams();
  for (const text of [state.text].flat()) put(out, "text", text);
  put(out, "text_b", state.text_b);
  put(out, "beside", state.beside);
  state.models.forEach((model, number) => {
    for (const [name, value] of Object.entries(model)) put(out, `${name}${number}`, value);
  });
  return `#${out}`;
}

/** One text, or a list of documents. */
function texts(found) {
  return found.length > 1 ? found : found[0] ?? null;
}

function put(out, name, value) {
  if (value !== null && value !== undefined && value !== "") out.append(name, value);
}
