// What must be so of the console's page. See ci/console.

import { readFile } from 'node:fs/promises';
import { check, demand, finish, hindrances, launch, open as openPage, picture, same, start, until } from './harness.mjs';

const program = await start();
const browser = await launch();
const page = await open(browser, program.url);

/** The console, once it shows something. */
async function open(...what) {
  const page = await openPage(...what);
  await until('it is live', () => page.locator('#live[data-live=live]').count());
  return page;
}

const rows = page.locator('.tree .body [role=row]');
const search = page.locator('#search');
const text = (selector) => page.locator(selector).first().textContent();
const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-level') && document.activeElement.querySelector('.name').textContent);
const rowOf = (name) => rows.filter({ has: page.locator('.name', { hasText: name }) }).first();
/** So many answers later. */
async function updates(count) {
  for (let seen = 0; seen < count; seen += 1) await page.waitForResponse((answer) => answer.url().includes('/api/state'));
}

/** From now on a page is told something else than what the program says. */
async function tell(page, change) {
  await page.route('**/api/state*', async (route) => {
    try {
      const state = await (await route.fetch()).json();
      change(state);
      await route.fulfill({ json: state });
    } catch { /* the page or the program is gone */ }
  });
}

/** Nobody answers this page any more, from now on until the end of all checks. */
const forgotten = await open(browser, program.url);
let questions = 0;
await forgotten.route('**/api/state*', () => { questions += 1; });

await check('the page is by the program, and tells who it is', async () => {
  same(await text('#program'), 'console', 'program');
  demand(Number(await text('#pid')) > 0, 'there is a pid');
  demand((await page.title()).startsWith('console · '), 'the title names the program');
});

await check('pools and workers have states that can be read', async () => {
  same(await page.locator('.pool h2').allTextContents(), ['Pool main', 'Pool loft'], 'pools');
  const states = await page.locator('.pool').first().locator('.workers tbody td.state').allTextContents();
  demand(states.length >= 3 && states.every((state) => /^(busy|idle|polling|retiring|vacant)$/.test(state)), states.join());
});

await check('figures live', async () => {
  const seen = async () => [await text('#uptime'), await text('.chart .value'), await page.locator('.chart .line').first().getAttribute('d')];
  const before = await seen();
  await until('uptime, rate and curve change', async () => (await seen()).every((now, index) => now && now !== before[index]));
  demand(/^[\d.]+[kM]?\/s$/.test(await text('.chart .value')), `a rate: ${await text('.chart .value')}`);
  demand(/now .*lowest .*highest/.test(await page.locator('.chart svg').first().getAttribute('aria-label')), 'a chart is described');
});

await check('times are shown as histograms, and the longest poll with its task', async () => {
  await until('the fog was seen', async () => (await text('.longest')).includes('fog'));
  demand(/examples.console\.rs:\d+/.test(await text('.longest')), 'it says where it was spawned');
  demand((await page.locator('.bars').first().getAttribute('d')).length > 20, 'bars are drawn');
  demand(/^[\d.]+ (ns|µs|ms|s)$/.test(await text('.quantiles td')), await text('.quantiles td'));
});

await check('nothing moves while it lives', async () => {
  await page.evaluate(() => {
    globalThis.moved = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => { globalThis.moved += entry.value; })).observe({ type: 'layout-shift' });
  });
  await updates(4);
  const moved = await page.evaluate(() => globalThis.moved);
  demand(moved < 0.005, `moved by ${moved}`);
});

await check('nothing is read out while figures change', async () => {
  await page.evaluate(() => {
    globalThis.said = [];
    const watch = new MutationObserver((changes) => changes.forEach(({ target }) => globalThis.said.push(target.textContent)));
    for (const part of document.querySelectorAll('[role=status], [role=alert], [aria-live]')) watch.observe(part, { childList: true, characterData: true, subtree: true });
  });
  const before = await text('#found');
  await until('the number of tasks changes', async () => (await text('#found')) !== before);
  same(await page.evaluate(() => globalThis.said), [], 'read out');
  await search.fill('lighthouse');
  await until('what was found is read out', async () => (await page.evaluate(() => globalThis.said)).some((said) => /^1 of \d+ match$/.test(said)));
  await search.fill('');
});

await check('a pause is one', async () => {
  await page.click('#pause');
  same(await text('#live'), 'paused', 'it says so');
  const before = await text('#uptime');
  await page.waitForTimeout(1600); // longer than it would take
  same(await text('#uptime'), before, 'uptime');
  await page.click('#pause');
  await until('it lives again', async () => (await text('#live')) === 'live' && (await text('#uptime')) !== before);
});

await check('a search narrows the tree', async () => {
  const all = await rows.count();
  await page.locator('body').press('/');
  await search.pressSequentially('LightH', { delay: 30 });
  await until('one is left', async () => (await rows.count()) === 1);
  same(await rows.locator('mark').allTextContents(), ['lighth'], 'what was found is marked');
  demand(/^1 of \d+ match$/.test(await text('#found')), await text('#found'));
  await search.fill('no such thing');
  await until('none is left', async () => (await rows.count()) === 0);
  demand((await text('#tree > .nothing')).includes('no such thing'), 'that is said');
  await search.press('Escape');
  await until('all are back', async () => (await rows.count()) >= all - 8);
});

await check('those that are alike are one line, which opens', async () => {
  await rowOf('gulls').click();
  await page.keyboard.press('ArrowDown');
  await until('a line for all gulls', async () => (await page.locator('.row:focus .times').textContent()) === '400 ×');
  await page.keyboard.press('ArrowRight');
  await until('it is open', async () => Number(await page.locator('.tree').getAttribute('aria-rowcount')) > 400);
  demand((await rows.count()) < 100, 'only what is in sight is there');
});

await check('the tree is used by keys, and keeps the focus', async () => {
  await page.keyboard.press('End');
  await page.keyboard.press('Home');
  same(await focused(), 'harbour', 'Home');
  const row = () => page.locator('.row:focus');
  await page.keyboard.press('ArrowLeft');
  same(await row().getAttribute('aria-expanded'), 'false', 'ArrowLeft closes');
  await updates(3);
  same([await focused(), await row().getAttribute('aria-expanded')], ['harbour', 'false'], 'after three updates');
  await page.keyboard.press('ArrowDown');
  same(await focused(), 'clerk', 'its children are hidden');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowRight');
  same(await row().getAttribute('aria-expanded'), 'true', 'ArrowRight opens');
  await page.keyboard.press('ArrowRight');
  same(await row().getAttribute('aria-level'), '2', 'ArrowRight goes in');
  await page.keyboard.press('ArrowLeft');
  await until('out again', async () => (await focused()) === 'harbour' || (await page.keyboard.press('ArrowLeft')), 5);
  demand((await text('#details')).includes('harbour'), 'the details are of what has the focus');
  same(await page.locator('.tree .body [tabindex="0"]').count(), 1, 'one line can be tabbed to');
  await page.keyboard.press('PageDown');
  await page.keyboard.press('PageDown');
  const far = await focused();
  await updates(2);
  same(await focused(), far, 'far down, after updates');
});

await check('the tree can be sorted', async () => {
  await page.click('.c-busy button');
  same(await page.locator('[role=columnheader].c-busy').getAttribute('aria-sort'), 'descending', 'aria-sort');
  await page.locator('.tree').evaluate((tree) => { tree.scrollTop = 0; });
  await until('the hog is first', async () => (await rows.first().locator('.name').textContent()) === 'fog');
  await page.click('.c-busy button');
});

await check('the longest poll leads to its task', async () => {
  await page.locator('.longest button').first().click();
  await until('it has the focus', async () => (await focused()) === 'fog');
});

await check('a dump is shown', async () => {
  await page.click('#dump');
  await until('it is there', async () => (await text('#dump-text')).includes('"lighthouse" task'));
  demand(/lines?, taken at/.test(await text('#dump-said')), await text('#dump-said'));
  same(await hindrances(page), [], 'hindrances');
  await picture(page, 'dump', false);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#dump-save')]);
  demand(download.suggestedFilename().endsWith('.txt'), download.suggestedFilename());
  const json = await page.request.get(new URL(await page.locator('#dump-json').getAttribute('href'), program.url).href);
  demand((await json.json()).tasks.length > 0, 'and as JSON');
  await page.keyboard.press('Escape');
  same(await page.evaluate(() => document.activeElement.id), 'dump', 'the focus is back');
});

await check('a trace is saved', async () => {
  await page.click('#trace');
  await page.selectOption('#trace-seconds', '0.5');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#trace-start')]);
  const { traceEvents } = JSON.parse(await readFile(await download.path(), 'utf8'));
  demand(traceEvents.length > 10, `${traceEvents.length} events`);
  await until('it says so', async () => (await text('#trace-said')).startsWith('Saved'));
  demand(download.suggestedFilename().endsWith('.json'), download.suggestedFilename());
  same(await hindrances(page), [], 'hindrances');
  await picture(page, 'trace', false);
  await page.keyboard.press('Escape');
});

await check('metrics are linked', async () => {
  const answer = await page.request.get(await page.locator('#metrics').evaluate((link) => link.href));
  demand((await answer.text()).includes('ropewalk_pool_alive'), 'Prometheus text');
});

await check('names are text, whatever they are', async () => {
  const made = await page.evaluate(async () => {
    const [{ setMarked }, box] = [await import('/dom.js'), document.createElement('p')];
    setMarked(box, 'a <img src=x onerror=alert(1)> b', 'img');
    return [box.querySelectorAll('*').length, box.textContent];
  });
  same(made, [1, 'a <img src=x onerror=alert(1)> b'], 'only the mark is an element');
});

await check('rates go by the time that passed, whatever clocks say, and begin anew with the program', async () => {
  const rates = await page.evaluate(async () => {
    const { History } = await import('/history.js');
    const [history, rates] = [new History(), []];
    const look = (uptime_ms, polls, at_ms, names = ['main']) => {
      const pools = names.map((name) => ({ name, injected: 0, alive: 1, workers: [{ state: 'busy', queued: 0, polls }] }));
      history.add({ pid: 1, uptime_ms, at_ms, pools, blocking: { finished: polls }, io: { polls, events: 0 } });
      rates.push([history.pool('main').rates.polls, history.figures.rates.finished, history.pool('main').samples.length]);
    };
    look(1000, 100, 1e12);
    look(2000, 300, 1e12 - 3.6e6); // an hour back
    look(4000, 1300, 1e12 + 3.6e6); // and forth
    look(500, 50, 1e12); // started again, with the same number
    look(1500, 60, 1e12);
    look(2500, 70, 1e12, ['other']); // the pool is gone
    look(3500, 80, 1e12);
    return rates.map((one) => one.map((rate) => rate ?? null));
  });
  same(rates, [[null, null, 1], [200, 200, 2], [500, 500, 3], [null, null, 1], [10, 10, 2], [null, 10, 0], [null, 10, 1]], 'rates and samples');
});

await check('a program that is started again after its end is seen', async () => {
  const other = await open(browser, program.url);
  await tell(other, (state) => { state.ended = true; });
  await until('it has ended', async () => (await other.locator('#live-text').textContent()).startsWith('ended'));
  await other.unroute('**/api/state*');
  await until('it lives', async () => (await other.locator('#live-text').textContent()) === 'live');
  await other.context().close();
});

await check('lists that change keep the focus, and pools that end go', async () => {
  const other = await open(browser, program.url);
  let told = 0;
  await until('there is a longest poll', () => other.locator('.longest button').count());
  await tell(other, (state) => {
    told += 1;
    for (const poll of state.pools[0].longest_polls) poll.ns += told;
    state.pools.length = 1;
  });
  const first = other.locator('.longest button').first();
  await first.focus();
  const name = await first.textContent();
  await until('the list has changed three times', () => told > 3);
  same(await other.evaluate(() => document.activeElement.textContent), name, 'the focus');
  same(await other.locator('.pool').count(), 1, 'pools');
  await other.context().close();
});

await check('what was not answered is asked again', async () => {
  await until('the second question', () => questions > 1);
  same(await forgotten.locator('#live-text').textContent(), 'no answer', 'it says so');
  demand(await forgotten.locator('#trouble').isVisible(), 'with why');
  await forgotten.context().close();
});

const looks = { light: {}, dark: { colorScheme: 'dark' }, phone: { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 }, wide: { viewport: { width: 2400, height: 1300 } }, tablet: { viewport: { width: 800, height: 1100 }, colorScheme: 'dark' } };
const backgrounds = new Map();
for (const [name, options] of Object.entries(looks)) {
  await check(`${name}: it fits, and nobody is hindered`, async () => {
    const other = await open(browser, program.url, { reducedMotion: 'reduce', ...options });
    await other.click('.pool:nth-child(2) .toggle');
    await other.waitForTimeout(3500); // for the picture: some curve
    same(await other.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, 'beyond the edge');
    same(await hindrances(other), [], 'hindrances');
    same(await other.locator('#live .shape').evaluate((shape) => getComputedStyle(shape).animationName), 'none', 'motion');
    backgrounds.set(name, await other.evaluate(() => getComputedStyle(document.body).backgroundColor));
    await picture(other, name);
    same(other.wrong, [], 'complaints');
    await other.context().close();
  });
}
await check('dark is dark', async () => {
  const light = (name) => Math.max(...backgrounds.get(name).match(/\d+/g).map(Number));
  demand(light('dark') < 60 && light('light') > 200, [...backgrounds].join());
});

await check('a token is passed on', async () => {
  const other = await open(browser, `${program.url}?token=0123456789abcdef`);
  const asked = other.asked.filter((url) => url.includes('/api/'));
  demand(asked.length > 0 && asked.every((url) => url.includes('token=0123456789abcdef')), asked.join());
  demand((await other.locator('#dump-json').getAttribute('href')).includes('token=') && (await other.locator('#metrics').getAttribute('href')).includes('token='), 'links');
  await other.context().close();
});

await check('nothing went wrong, and nobody else was asked', async () => {
  same(page.wrong, [], 'complaints');
  const own = new URL(program.url).origin;
  same(page.asked.filter((url) => !url.startsWith(own) && !url.startsWith('data:') && !url.startsWith(`blob:${own}`)), [], 'others');
});

await check('when the program ends that is said', async () => {
  same(await program.stop(), 0, 'status');
  await until('it is seen', async () => (await text('#live')) === 'no answer');
  demand((await text('#trouble')).includes('does not answer'), await text('#trouble'));
  const [alert, age] = [await text('#trouble-text'), await text('#trouble-age')];
  await page.evaluate(() => {
    globalThis.alarms = 0;
    new MutationObserver(() => { globalThis.alarms += 1; }).observe(document.querySelector('[role=alert]'), { childList: true, characterData: true, subtree: true });
  });
  await until('its age changes', async () => (await text('#trouble-age')) !== age);
  same([await page.evaluate(() => globalThis.alarms), await text('#trouble-text')], [0, alert], 'it is read out once');
});

await browser.close();
finish();
