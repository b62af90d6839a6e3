// A browser that looks at what a program shows or has written, and checks that say what was seen.

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';

/** Looked at is `subject`: a program, or a file. What else was given is `others`. */
export const [browserPath, modules, subject, pictures, ...others] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

let failures = 0;

/** Runs a check; it has failed if it throws. */
export async function check(name, run) {
  try {
    await run();
    console.log(`ok: ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED: ${name}: ${error.stack ?? error}`);
  }
}

export function demand(is, what) {
  if (!is) throw new Error(what);
}

export const same = (found, wanted, what) =>
  demand(JSON.stringify(found) === JSON.stringify(wanted), `${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);

/** Asks until it is so; after a while it is an error. */
export async function until(what, ask, seconds = 30) {
  const end = Date.now() + seconds * 1e3;
  for (;;) {
    const found = await ask();
    if (found) return found;
    demand(Date.now() < end, `not so after ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The program, and where its console is. */
export async function start() {
  const child = spawn(subject, ['127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  process.once('exit', () => child.kill('SIGKILL')); // also if something here is thrown
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const lines = createInterface({ input: child.stdout });
  const first = await new Promise((resolve, reject) => {
    lines.once('line', resolve);
    child.once('error', reject);
    child.once('exit', (status) => reject(new Error(`it ended with ${status} before it said anything`)));
  });
  const url = first.match(/http:\S+/)?.[0];
  demand(url, `it does not say where its console is: ${first}`);
  const stop = async () => {
    child.kill('SIGINT');
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
    const status = await ended;
    clearTimeout(late);
    return status;
  };
  return { url, stop };
}

export async function launch() {
  const quiet = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  return chromium.launch({ executablePath: browserPath, args: quiet });
}

/** A page that remembers what went wrong in it, and whom it asked; if it is to be `alone`, nobody else answers. */
export async function open(browser, url, { alone = false, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, acceptDownloads: true, bypassCSP: false, ...options });
  if (alone) await context.route((asked) => asked.origin !== new URL(url).origin, (route) => route.abort());
  const page = await context.newPage();
  page.wrong = [];
  page.asked = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) page.wrong.push(message.text());
  });
  page.on('pageerror', (error) => page.wrong.push(error.stack));
  page.on('request', (request) => page.asked.push(request.url()));
  await page.goto(url);
  return page;
}

export const picture = (page, name, fullPage = true) => page.screenshot({ path: `${pictures}/${name}.png`, fullPage });

/** What hinders those who do not see or do not use a mouse. */
export async function hindrances(page) {
  // By the driver's own connection, which the page's policy does not forbid.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(' | ')}`);
}

export function finish() {
  process.exitCode = failures ? 1 : 0;
}
