// What belongs to no pool: the blocking pool, the I/O driver, and what went wrong.

import { h, setAttribute, setText } from './dom.js';
import { count, short } from './text.js';

export class Process {
  #values = new Map();
  #cards = {};

  constructor(element) {
    const card = (key, title, figures, ...more) => {
      const list = h('dl', { class: 'gauges' }, ...figures.map(([name, label, about]) => {
        const value = h('dd', {}, '–');
        this.#values.set(`${key}.${name}`, value);
        return h('div', { title: about }, h('dt', {}, label), value);
      }));
      this.#cards[key] = h('section', { class: 'panel card', 'aria-label': title }, h('h2', {}, title), ...more, list);
      return this.#cards[key];
    };
    this.why = h('p', { class: 'why' });
    element.append(
      card('blocking', 'Blocking pool', [['threads', 'threads'], ['running', 'running', 'jobs that have a thread'],
        ['idle', 'idle', 'threads that wait for a job'], ['queued', 'queued', 'jobs that wait for a thread'], ['finished', 'jobs/s']]),
      card('io', 'I/O driver', [['driver', 'driver'], ['registered', 'registered', 'sockets and files it watches'], ['polls', 'polls/s'], ['events', 'events/s']], this.why),
      card('wrong', 'Trouble', [['panics', 'unhandled panics', 'panics of tasks that nobody waited for'],
        ['refused', 'refused waits', 'waits of a task for one that it stems from']]),
    );
  }

  update(state, rates) {
    const rate = (name) => (rates[name] === undefined ? '–' : short(rates[name]));
    const show = (key, text) => setText(this.#values.get(key), text);
    const { blocking, io } = state;
    for (const name of ['threads', 'running', 'idle', 'queued']) show(`blocking.${name}`, count(blocking[name]));
    show('blocking.finished', rate('finished'));
    setAttribute(this.#cards.io, 'hidden', io ? null : '');
    if (io) {
      show('io.driver', io.driver ?? 'none yet');
      show('io.registered', count(io.registered));
      show('io.polls', rate('polls'));
      show('io.events', rate('events'));
      setText(this.why, io.why ?? '');
      setAttribute(this.why, 'title', io.why);
    }
    const wrong = { panics: state.unhandled_panics, refused: state.refused_waits };
    for (const [name, number] of Object.entries(wrong)) {
      show(`wrong.${name}`, count(number));
      this.#values.get(`wrong.${name}`).classList.toggle('bad', number > 0);
    }
  }
}
