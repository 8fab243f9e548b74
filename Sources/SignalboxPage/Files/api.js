// The gateway's admin API. The token is kept for this tab alone, and only sent to this origin.

const KEY = "signalbox-token";
const lost = new Set();
let token = sessionStorage.getItem(KEY) ?? "";

export const whenRefused = (call) => lost.add(call);

export function use(given) {
  token = given;
  sessionStorage.setItem(KEY, given);
}

async function call(path, options) {
  const headers = { ...options?.headers };
  if (token) headers.authorization = `Bearer ${token}`;
  const answer = await fetch(path, { ...options, headers, cache: "no-store", redirect: "error", credentials: "omit" });
  if (answer.status === 401) {
    sessionStorage.removeItem(KEY);
    for (const call of lost) call(token !== "");
    token = "";
  }
  return answer;
}

async function json(answer) {
  let body = {};
  try {
    body = await answer.json();
  } catch {
    // The status alone says what happened.
  }
  if (answer.ok) return body;
  throw new Error([body.detail ?? `The gateway answered ${answer.status}.`, ...(body.faults ?? [])].join("\n"));
}

export const get = async (path) => json(await call(path));

export const post = async (path, body) => json(await call(path, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
}));

// Reads server-sent events until the connection ends. EventSource could send no token.
export async function events(path, signal, take) {
  const answer = await call(path, { signal });
  if (!answer.ok) await json(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const lines = part.split("\n");
      const name = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
      if (name && data) take(name, JSON.parse(data));
    }
  }
}
