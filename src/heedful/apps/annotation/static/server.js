// What the pages ask the server. A request that got no reply is made again under the same name,
// so that it is granted once, however often it was sent.

const WAIT = 2000;

export class Refused extends Error {
  constructor(status, body) {
    super(body.error || `the server answered ${status}`);
    this.status = status;
    this.value = body.value;
  }
}

export function token(name) {
  return new URLSearchParams(location.search).get(name) || "";
}

export async function get(path, key) {
  return reply(await fetch(path, { headers: { authorization: `Bearer ${key}` } }));
}

// `waiting` is told once the server has not answered; the promise ends when it has.
export async function post(path, key, body, waiting) {
  const sent = JSON.stringify({ ...body, request: name() });
  for (;;) {
    try {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const got = await fetch(path, { method: "POST", headers, body: sent });
      if (got.status < 500) return await reply(got);
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
    waiting();
    await new Promise((go) => setTimeout(go, WAIT));
  }
}

async function reply(got) {
  const body = await got.json();
  if (!got.ok) throw new Refused(got.status, body);
  return body;
}

function name() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
