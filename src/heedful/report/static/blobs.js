// The page's data: compressed texts in scripts that nobody runs, unpacked when asked for.

const unpacked = new Map();

export function has(name) {
  return element(name) !== null;
}

export function blobText(name) {
  if (!unpacked.has(name)) unpacked.set(name, unpack(name));
  return unpacked.get(name);
}

export async function blob(name) {
  return JSON.parse(await blobText(name));
}

async function unpack(name) {
  const found = element(name);
  if (found === null) throw new Error(`there is no data named ${name} in this page`);
  const bytes = Uint8Array.from(atob(found.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function element(name) {
  return document.querySelector(`script[data-blob="${CSS.escape(name)}"]`);
}
