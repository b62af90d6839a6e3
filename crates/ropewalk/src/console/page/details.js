// All that is known of the chosen line, without anything cut off.

import { h } from './dom.js';
import { count, nanos, span } from './text.js';

export class Details {
  #shown = null;

  constructor(element, onTask) {
    this.element = element;
    this.onTask = onTask;
  }

  show(row) {
    const facts = row ? this.#facts(row) : [];
    const key = JSON.stringify(facts);
    if (key === this.#shown) return;
    this.#shown = key;
    if (!row) {
      this.element.replaceChildren(h('p', { class: 'quiet' }, 'Choose a line to see all that is known of it.'));
      return;
    }
    // A button that has the focus keeps it.
    const focused = this.element.contains(document.activeElement) ? document.activeElement.textContent : null;
    this.element.replaceChildren(h('dl', { class: 'facts' }, ...facts.map(([name, text]) =>
      h('div', {}, h('dt', {}, name), h('dd', {}, ...this.#linked(text))))));
    if (focused) [...this.element.querySelectorAll('button')].find((button) => button.textContent === focused)?.focus();
  }

  #facts({ task, members, level }) {
    const title = members ? `${count(members.length)} that are alike` : `${task.kind} ${task.id}`;
    const facts = [[title, task.name ?? 'without a name'], ['state', task.state + (task.pinned ? ', pinned to its worker' : '')], ['pool', task.pool], ['spawned at', task.spawned_at]];
    if (level > 1 && task.parent != null) facts.push(['child of', `task ${task.parent}`]);
    if (task.waits_for) facts.push(['waits for', task.waits_for]);
    if (task.waits_ms != null) facts.push([members ? 'longest wait' : 'since', span(task.waits_ms)]);
    if (task.age_ms == null) facts.push(['not observed', 'no name, and no Builder::observe(true)']);
    else facts.push([members ? 'oldest' : 'age', span(task.age_ms)], ['polls', count(task.polls)], ['busy', nanos(task.busy_ns)]);
    if (task.polls > 0) facts.push(['mean poll', nanos(task.busy_ns / task.polls)]);
    return facts;
  }

  /** Whoever is named in a reason can be gone to. */
  #linked(text) {
    return String(text).split(/(\b(?:task|strand|job) \d+)/).map((part, index) => (index % 2 === 0 ? part
      : h('button', { type: 'button', class: 'link', on: { click: () => this.onTask(Number(part.split(' ')[1])) } }, part)));
  }
}
