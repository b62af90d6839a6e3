// The workers of a pool: a line for each.

import { h, s, setAttribute, setShape, setText, shape } from './dom.js';
import { count, short } from './text.js';

const SHAPES = { busy: 'full', idle: 'ring', polling: 'half', retiring: 'down', vacant: 'dash' };
const MEANING = {
  busy: 'running tasks, or looking for some',
  idle: 'asleep',
  polling: 'asleep in the I/O driver, for all of its pool',
  retiring: 'serves only what is pinned to it',
  vacant: 'nobody is there',
};
const RATES = ['polls', 'steals', 'parks'];
const [STRIP, LOOK] = [60, 60];

/** The last states, the newest at the right: a stroke for each look, high if it was busy. */
function strip(looks, state) {
  const width = STRIP / LOOK;
  const from = LOOK - looks.length;
  return looks.map((look, index) => (look === state ? `M${((from + index + 0.5) * width).toFixed(1)} 13v${state === 'busy' ? -12 : -4}` : '')).join('');
}

class Worker {
  constructor(number) {
    this.drawing = shape('ring');
    this.state = h('span', {});
    this.busy = s('path', { class: 'busy' });
    this.polling = s('path', { class: 'polling' });
    this.share = h('span', {});
    this.cells = Object.fromEntries(['queued', ...RATES].map((name) => [name, h('td', {}, '–')]));
    const picture = s('svg', { class: 'looks', width: STRIP, height: 14, 'aria-hidden': 'true' }, this.polling, this.busy);
    this.cell = h('td', { class: 'state' }, h('span', { class: 'word' }, this.drawing, this.state));
    this.row = h('tr', {}, h('th', { scope: 'row' }, String(number)), this.cell,
      h('td', { class: 'share' }, h('span', { class: 'word' }, picture, this.share)), ...Object.values(this.cells));
  }

  update(worker, seen) {
    setShape(this.drawing, SHAPES[worker.state] ?? 'dash');
    setAttribute(this.cell, 'data-state', worker.state);
    setAttribute(this.cell, 'title', MEANING[worker.state]);
    setText(this.state, worker.state);
    const { looks, rates } = seen;
    const busy = looks.filter((look) => look === 'busy').length;
    setText(this.share, `${Math.round((busy / looks.length) * 100)} %`);
    setAttribute(this.busy, 'd', strip(looks, 'busy'));
    setAttribute(this.polling, 'd', strip(looks, 'polling'));
    setText(this.cells.queued, count(worker.queued));
    for (const name of RATES) setText(this.cells[name], rates[name] === undefined ? '–' : short(rates[name]));
  }
}

export class Workers {
  #rows = [];
  #body = h('tbody');

  constructor(pool) {
    const heads = [['Worker', null], ['State', null], ['Busy', 'share of the last 60 looks at which it was busy'],
      ['Queued', 'tasks in its own queue'], ['Polls/s', null], ['Steals/s', 'queues of others it took half of'], ['Parks/s', 'times it went to sleep']];
    const table = h('table', { class: 'workers', 'aria-label': `Workers of ${pool}` },
      h('thead', {}, h('tr', {}, ...heads.map(([text, title]) => h('th', { scope: 'col', title }, text)))), this.#body);
    this.element = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Workers of ${pool}, each` }, table);
  }

  update(workers, history) {
    while (this.#rows.length < workers.length) {
      const worker = new Worker(this.#rows.length);
      this.#rows.push(worker);
      this.#body.append(worker.row);
    }
    while (this.#rows.length > workers.length) this.#rows.pop().row.remove();
    workers.forEach((worker, index) => this.#rows[index].update(worker, history.workers[index] ?? { looks: [worker.state], rates: {} }));
  }
}
