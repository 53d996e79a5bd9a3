// What the page asks the server for; a refusal is an Error with the server's sentence.

export async function ask(path, body) {
  let response;
  try {
    response = await fetch(path, request(body));
  } catch {
    throw new Error("the server does not answer: is it still running?");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `the server refused (${response.status}).`);
  return answer;
}

/** Only the latest of many calls counts: while one is under way the next waits, and whatever
 *  comes in between is dropped. */
export function latest(work) {
  let busy = false;
  let waiting = null;
  return async function run(...given) {
    if (busy) {
      waiting = given;
      return;
    }
    busy = true;
    try {
      await work(...given);
    } finally {
      busy = false;
      const next = waiting;
      waiting = null;
      if (next) run(...next);
    }
  };
}

function request(body) {
  if (body === undefined) return { headers: { accept: "application/json" } };
  return {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}
