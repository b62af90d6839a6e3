// What Perfetto must understand of a recording of examples/trace.rs. See ci/perfetto.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { check, demand, finish, launch, open, others, picture, same, subject, until } from './harness.mjs';

const { traceEvents, otherData } = JSON.parse(await readFile(subject, 'utf8'));
const nanos = (micros) => Math.round(micros * 1e3);
const written = (phase, category) => traceEvents.filter((event) => event.ph === phase && (!category || event.cat === category));
const threads = new Map(traceEvents.filter((event) => event.name === 'thread_name').map((event) => [event.tid, event.args.name]));

/** The same rows, in whatever order; else some of those that differ are told. */
function alike(found, wanted, what) {
  const rest = new Map();
  const add = (rows, one) => rows.map((row) => JSON.stringify(row)).forEach((row) => rest.set(row, (rest.get(row) ?? 0) + one));
  add(found, 1);
  add(wanted, -1);
  const some = (wrong) => [...rest].filter(([, count]) => wrong(count)).slice(0, 4).map(([row]) => row).join(' ') || 'none';
  demand(some((count) => count !== 0) === 'none', `${what}: unexpected ${some((count) => count > 0)}, missing ${some((count) => count < 0)}`);
}

const server = await serve(others[0], subject);
const url = `http://127.0.0.1:${server.address().port}/`;
const browser = await launch();
const page = await open(browser, `${url}#!/?url=${url}recording.json`, { alone: true, serviceWorkers: 'block', viewport: { width: 1600, height: 1000 } });
await until('the recording is open', () => page.evaluate(() => Boolean(globalThis.app?.trace)));
await page.evaluate(() => globalThis.app.sidebar.visible && globalThis.app.sidebar.toggleVisibility()); // more room for pictures

/** Perfetto's page, and a recording that it can fetch. */
async function serve(folder, recording) {
  const types = { '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json', '.png': 'image/png', '.wasm': 'application/wasm', '.woff2': 'font/woff2' };
  const server = createServer(async (question, answer) => {
    const { pathname } = new URL(question.url, 'http://localhost'); // nothing leads out of it
    const file = { '/': join(folder, 'index.html'), '/recording.json': recording }[pathname] ?? join(folder, pathname);
    try {
      const content = await readFile(file);
      answer.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream');
      answer.end(content);
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return server;
}

/** What Perfetto answers, as rows. */
const ask = (sql) => page.evaluate(async (sql) => {
  const [answer, rows] = [await globalThis.app.trace.engine.query(sql), []];
  const plain = (value) => (typeof value === 'bigint' ? Number(value) : value);
  for (const row = answer.iter({}); row.valid(); row.next()) rows.push(answer.columns().map((column) => plain(row.get(column))));
  return rows;
}, sql);
const number = async (sql) => (await ask(sql))[0][0];

await check('nothing is wrong with the recording', async () => {
  same(await ask("select name, value from stats where severity in ('error', 'data_loss') and value > 0"), [], 'complaints');
  same(await page.evaluate(() => globalThis.app.trace.loadingErrors.map(String)), [], 'errors of the page');
  same(await page.locator('.pf-modal-dialog, .modal-dialog').count(), 0, 'dialogs');
});

await check('every worker and thread is a track with its name', async () => {
  const names = [...threads.values()];
  demand(['main/worker 0', 'main/worker 1'].every((name) => names.includes(name)), names.join());
  same(await ask('select tid, name from thread where name is not null order by tid'), [...threads], 'threads');
  const busy = await ask("select distinct tid from slice join thread_track on track_id = thread_track.id join thread using (utid) where category in ('poll', 'park')");
  const wanted = new Set(written('X').filter((event) => ['poll', 'park'].includes(event.cat)).map((event) => event.tid));
  alike(busy, [...wanted].map((tid) => [tid]), 'threads that polled or slept');
  for (const name of names) await until(`${name} can be read`, () => page.getByText(name).count());
});

await check('there are as many polls as were written', async () => {
  const polls = written('X', 'poll').length;
  demand(polls > 200, `${polls} polls`);
  same(await number("select count(*) from slice where category = 'poll'"), polls, 'polls');
});

await check('every slice is on its track, at its time, as long as it was', async () => {
  const slices = await ask('select tid, ts, dur, category, slice.name from slice join thread_track on track_id = thread_track.id join thread using (utid)');
  const wanted = [...written('X'), ...written('i')].map((event) => [event.tid, nanos(event.ts), nanos(event.dur ?? 0), event.cat, event.name]);
  alike(slices, wanted, 'slices');
});

await check('nothing is unfinished; what goes on ends with the recording', async () => {
  same(await ask('select id, name, dur from slice where dur < 0'), [], 'without an end');
  const open = await ask("select ts + dur from slice where extract_arg(arg_set_id, 'args.ended') = 'runs' or extract_arg(arg_set_id, 'args.place') = 'asleep now'");
  same(open.filter(([end]) => end !== nanos(otherData.until_us)), [], 'ends');
});

await check('every wake-up is an arrow that ends where its poll begins', async () => {
  const arrows = await ask('select slice.ts, category from flow join slice on slice_in = slice.id');
  demand(arrows.length > 200, `${arrows.length} arrows`);
  same(written('s').length, arrows.length, 'arrows');
  alike(arrows, written('f').map((event) => [nanos(event.ts), 'poll']), 'ends');
  same(await number('select count(*) from flow join slice a on slice_out = a.id join slice b on slice_in = b.id where a.ts > b.ts'), 0, 'arrows that go back');
});

await check('arrows tell who woke whom', async () => {
  const arrows = (from, to) => number(`select count(*) from flow join slice a on slice_out = a.id join slice b on slice_in = b.id where ${from} and ${to}`);
  demand((await arrows("a.name glob 'splicer *'", "b.name glob 'splicer *' and a.name != b.name")) > 0, 'the lock goes from one to another');
  demand((await arrows("a.category = 'timers'", "b.name glob 'splicer *'")) > 0, 'a timer wakes who sleeps');
  demand((await arrows("a.category = 'io'", "b.name in ('ping', 'pong')")) > 0, 'a socket wakes who reads');
  demand((await arrows("a.name = 'source'", "b.name = 'square'")) > 0, 'a channel wakes who receives');
});

await check('the poll that held a worker is the longest, by its name', async () => {
  const [[name, took, kind, spawned]] = await ask(`select name, dur, extract_arg(arg_set_id, 'args.kind'), extract_arg(arg_set_id, 'args.spawned')
    from slice where category = 'poll' order by dur desc limit 1`);
  same([name, kind], ['square', 'task'], 'the longest');
  demand(took >= 100e6, `it took ${took} ns`);
  demand(/^examples.trace\.rs:\d+:\d+$/.test(spawned), spawned);
});

await check('strands are told from tasks', async () => {
  const kinds = await ask("select distinct name, extract_arg(arg_set_id, 'args.kind') from slice where category = 'poll' and (name glob 'splicer *' or name in ('ping', 'source')) order by name");
  same(kinds, [['ping', 'task'], ['source', 'task'], ...[1, 2, 3].map((who) => [`splicer ${who}`, 'strand'])], 'kinds');
});

await check("the user's spans are there, with their task", async () => {
  const spans = await ask("select ts, dur, extract_arg(arg_set_id, 'args.task') from slice where category = 'span' and name = 'square one'");
  same(spans.length, 200, 'spans');
  const begun = written('b', 'span');
  alike(spans.map(([at, , task]) => [at, task]), begun.map((event) => [nanos(event.ts), event.args.task]), 'begin');
  alike(spans.map(([at, took]) => at + took), written('e', 'span').map((event) => nanos(event.ts)), 'end');
  same(await number("select count(distinct extract_arg(arg_set_id, 'args.task')) from slice where category = 'span' or (category = 'poll' and name = 'square')"), 1, 'tasks');
});

await check('queues are counters', async () => {
  const counters = await ask("select counter_track.name, ts, cast(value as int) from counter join counter_track on track_id = counter_track.id where counter_track.name glob 'queued: main/*'");
  demand(new Set(counters.map(([name]) => name)).size >= 2, 'at least two queues have one');
  demand(counters.some(([, , value]) => value > 0), 'something was queued');
  alike(counters, written('C', 'queue').map((event) => [`${event.name} tasks`, nanos(event.ts), event.args.tasks]), 'values');
});

/** Shows a slice, with so much time around it. */
async function show(id, before, after) {
  const [[start, took]] = await ask(`select ts, dur from slice where id = ${id}`);
  await page.evaluate(([id, from, to]) => {
    const { trace } = globalThis.app;
    trace.selection.selectSqlEvent('slice', id, { scrollToSelection: false, switchToCurrentSelectionTab: true });
    trace.scrollTo({ time: { start: BigInt(from), end: BigInt(to), viewPercentage: 0.98 } });
  }, [id, Math.max(start - before, 0), start + took + after]);
  await page.evaluate(() => globalThis.waitForPerfettoIdle());
}

await check('the page shows who held a worker', async () => {
  const longest = await number("select id from slice where category = 'poll' order by dur desc limit 1");
  await show(longest, 5e6, 20e6);
  await until('the details are there', () => page.getByText(/examples.trace\.rs:\d+:\d+/).count());
  await picture(page, 'long-poll', false);
});

await check('the page shows how a lock goes from hand to hand', async () => {
  const next = await number("select b.id from flow join slice a on slice_out = a.id join slice b on slice_in = b.id where a.name glob 'splicer *' and b.name glob 'splicer *' and a.name != b.name order by b.ts limit 1");
  await show(next, 60e3, 30e3);
  await until('the details are there', () => page.getByText('strand', { exact: true }).count());
  await picture(page, 'lock', false);
});

await browser.close();
server.close();
finish();
