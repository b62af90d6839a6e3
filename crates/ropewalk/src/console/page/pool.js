// A pool: its gauges, rates, workers and times.

import { Chart } from './chart.js';
import { h, setAttribute, setText } from './dom.js';
import { HistogramView } from './histogram.js';
import { count, nanos, short } from './text.js';
import { Workers } from './workers.js';

/** A gauge: its name, what it means, and how it is read from a pool. */
const GAUGES = [
  ['alive', 'tasks and strands that are not over', (pool) => pool.alive],
  ['strands', 'strands that have begun and are not over', (pool) => pool.strands],
  ['injected', 'tasks in the queue that all workers share', (pool) => pool.injected],
  ['timers', 'timers that are pending', (pool) => pool.timers],
  ['workers', 'workers that take work', (pool) => pool.active],
  ['busy', 'workers that run tasks, or look for some', (pool) => pool.workers.filter((worker) => worker.state === 'busy').length],
  ['sleeping', 'workers that are asleep and would be woken for work', (pool) => pool.sleeping],
  ['searching', 'workers that are looking for work now', (pool) => pool.searching],
  ['stand-ins', 'workers that are there because others are stuck in a poll', (pool) => pool.stand_ins],
  ['rescues', 'times a stand-in came for a worker that was stuck in a poll', (pool) => pool.rescues],
];
/** What is no counter, though it is a number. */
const STANDING = new Set(['queued', 'pinned', 'parked_stacks']);

export class PoolView {
  #gauges = new Map();
  #counters = new Map();
  #counterBody = h('tbody');
  #charts;
  #workers;
  #times;
  #longest = h('div', { class: 'longest' });

  constructor(name, isOpen, onTask) {
    this.onTask = onTask;
    const gauges = h('dl', { class: 'gauges' }, ...GAUGES.map(([label, title, read]) => {
      const value = h('dd', {}, '–');
      this.#gauges.set(value, read);
      return h('div', { title }, h('dt', {}, label), value);
    }));
    this.#charts = [
      new Chart('Polls', 'polls', '/s'),
      new Chart('Wake-ups', 'wakes', '/s'),
      new Chart('Queued', 'depth', ''),
      new Chart('Alive', 'alive', ''),
    ];
    this.#workers = new Workers(name);
    this.#times = { poll_time: new HistogramView('Poll time', 'since start'), wake_to_run: new HistogramView('Wake to run', 'since start') };
    const counters = h('details', { class: 'counters' }, h('summary', {}, 'All counters'),
      h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Counters of ${name}` },
        h('table', { 'aria-label': `Counters of ${name}` },
          h('thead', {}, h('tr', {}, ...['Counter', 'Per second', 'Total'].map((text) => h('th', { scope: 'col' }, text)))),
          this.#counterBody)));
    // The longest poll and the counters stand beside their workers.
    const left = h('div', { class: 'staff' }, this.#workers.element, this.#longest, counters);
    const content = h('div', { class: 'content', hidden: !isOpen },
      h('div', { class: 'charts' }, ...this.#charts.map((chart) => chart.element)),
      h('div', { class: 'inside' }, left, ...Object.values(this.#times).map((view) => view.element)));
    const toggle = h('button', { type: 'button', class: 'toggle', 'aria-expanded': String(isOpen) }, h('span', { class: 'kind' }, 'Pool '), name);
    toggle.addEventListener('click', () => {
      content.hidden = !content.hidden;
      setAttribute(toggle, 'aria-expanded', !content.hidden);
    });
    this.element = h('section', { class: 'panel pool', 'aria-label': `Pool ${name}` },
      h('div', { class: 'bar' }, h('h2', {}, toggle), gauges), content);
  }

  update(pool, history, now) {
    for (const [value, read] of this.#gauges) setText(value, count(read(pool)));
    for (const chart of this.#charts) chart.update(history.samples, now);
    this.#workers.update(pool.workers, history);
    for (const [name, view] of Object.entries(this.#times)) view.update(pool[name]);
    this.#showLongest(pool.longest_polls);
    this.#showCounters(pool.workers, history.rates);
  }

  #showLongest(longest) {
    const key = JSON.stringify(longest);
    if (this.#longest.shown === key) return;
    this.#longest.shown = key;
    if (longest.length === 0) {
      this.#longest.replaceChildren('Longest polls: ', h('span', { class: 'quiet' }, 'none took long.'));
      return;
    }
    // A button that has the focus keeps it, if its task is still one of them.
    const focused = this.#longest.contains(document.activeElement) ? document.activeElement.textContent : null;
    this.#longest.replaceChildren('Longest polls, one for each place where tasks are spawned:', h('ol', {}, ...longest.map((poll) => {
      const who = poll.name ? `“${poll.name}”` : `${poll.kind} ${poll.task}`;
      const search = { type: 'button', class: 'link', title: 'Search for it', on: { click: () => this.onTask(poll) } };
      return h('li', {}, h('strong', {}, nanos(poll.ns)), ' in ', h('button', search, who), ', spawned at ', h('code', {}, poll.spawned_at));
    })));
    if (focused) [...this.#longest.querySelectorAll('button')].find((button) => button.textContent === focused)?.focus();
  }

  /** Whatever the workers count, also what this page does not know yet. */
  #showCounters(workers, rates) {
    for (const name of Object.keys(workers[0] ?? {})) {
      if (typeof workers[0][name] !== 'number' || STANDING.has(name)) continue;
      if (!this.#counters.has(name)) {
        const cells = [h('td', {}), h('td', {})];
        this.#counters.set(name, cells);
        this.#counterBody.append(h('tr', {}, h('th', { scope: 'row' }, name.replaceAll('_', ' ')), ...cells));
      }
      const [rate, total] = this.#counters.get(name);
      setText(rate, rates[name] === undefined ? '–' : short(rates[name]));
      setText(total, count(workers.reduce((all, worker) => all + worker[name], 0)));
    }
  }
}

/** All pools, in their order. */
export class Pools {
  #views = new Map();

  constructor(element, onTask) {
    this.element = element;
    this.onTask = onTask;
  }

  update(state, history) {
    for (const pool of state.pools) {
      if (!this.#views.has(pool.name)) {
        const view = new PoolView(pool.name, this.#views.size < 1, this.onTask);
        this.#views.set(pool.name, view);
        this.element.append(view.element);
      }
      this.#views.get(pool.name).update(pool, history.pool(pool.name), state.uptime_ms);
    }
    for (const [name, view] of this.#views) {
      if (state.pools.some((pool) => pool.name === name)) continue;
      view.element.remove();
      this.#views.delete(name);
    }
  }
}
