// Asking the program. If the page was opened with a token, every request has it.

const token = new URLSearchParams(location.search).get('token');

/** What to ask, with its parameters and the token. */
export function address(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ''));
  if (token) query.set('token', token);
  return query.size ? `${path}?${query}` : path;
}

/** It answered, but not what was asked for. */
export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export async function ask(path, parameters, signal) {
  const answer = await fetch(address(path, parameters), { signal, cache: 'no-store' });
  if (answer.ok) return answer;
  const text = await answer.text();
  let said = text;
  try {
    said = JSON.parse(text).error ?? text;
  } catch { /* not by the console: as it is */ }
  throw new Refused(answer.status, said || `the answer was ${answer.status}`);
}

export const askState = async (limit, wanted, signal) =>
  (await ask('api/state', { tasks: limit, q: wanted }, signal)).json();
