// The tasks as a tree with columns. Only the lines in sight are there; each keeps its element, and the focus, over updates.

import { h, setAttribute, setMarked, setShape, setText, shape } from './dom.js';
import { Rows, reason } from './rows.js';
import { count, nanos, short, span } from './text.js';

const SHAPES = { running: 'play', queued: 'list', waiting: 'bars', ending: 'square' };
/** A column: its title, and the figure by which it sorts. */
const COLUMNS = [
  ['task', 'Task'], ['id', 'Id'], ['kind', 'Kind'], ['state', 'State'], ['reason', 'Waits for'],
  ['since', 'Since', 'waits_ms'], ['age', 'Age', 'age_ms'], ['polls', 'Polls', 'polls'], ['busy', 'Busy', 'busy_ns'],
];
/** Lines beyond what is in sight, so that scrolling finds them there. */
const BEYOND = 10;

/** The element of a line. */
class Line {
  constructor() {
    this.cells = Object.fromEntries(COLUMNS.map(([name]) => [name, h('div', { role: 'gridcell', class: `c-${name}` })]));
    this.twist = h('span', { class: 'twist', 'aria-hidden': 'true' });
    [this.name, this.times, this.place] = ['name', 'times', 'place'].map((name) => h('span', { class: name }));
    this.drawing = shape('bars');
    this.state = h('span', {});
    this.cells.task.append(this.twist, this.times, this.name, this.place);
    [this.what, this.which] = [h('span'), h('span', { class: 'which' })];
    this.cells.reason.append(this.what, this.which);
    this.cells.state.append(this.drawing, this.state);
    this.element = h('div', { role: 'row', class: 'row', tabindex: -1 }, ...Object.values(this.cells));
  }

  update(row, index, isActive, wanted) {
    const { element, cells } = this;
    const { task, members } = row;
    element.style.setProperty('--at', index);
    element.style.setProperty('--level', row.level - 1);
    setAttribute(element, 'aria-level', row.level);
    setAttribute(element, 'aria-posinset', row.position);
    setAttribute(element, 'aria-setsize', row.siblings);
    setAttribute(element, 'aria-rowindex', index + 2);
    setAttribute(element, 'aria-expanded', row.hasChildren ? row.isOpen : null);
    setAttribute(element, 'aria-selected', isActive);
    setAttribute(element, 'data-state', task.state);
    element.tabIndex = isActive ? 0 : -1;
    setMarked(this.name, task.name ?? task.spawned_at, wanted);
    this.name.classList.toggle('code', !task.name);
    setText(this.times, members ? `${count(members.length)} ×` : '');
    setMarked(this.place, task.name ? task.spawned_at : '', wanted);
    setMarked(cells.id, task.id === null ? '' : String(task.id), wanted);
    setMarked(cells.kind, task.kind, wanted);
    setShape(this.drawing, SHAPES[task.state] ?? 'dash');
    setMarked(this.state, task.state, wanted);
    const { what, which } = members ? task : reason(task.waits_for);
    setMarked(this.what, what, wanted);
    setMarked(this.which, which, wanted);
    setText(cells.since, task.waits_ms == null ? '' : span(task.waits_ms));
    setText(cells.age, task.age_ms == null ? '' : span(task.age_ms));
    setText(cells.polls, task.polls == null ? '' : short(task.polls));
    setText(cells.busy, task.busy_ns == null ? '' : nanos(task.busy_ns));
  }
}

export class Tree {
  rows = new Rows();
  #lines = new Map();
  #active = null;
  #wanted = '';
  #height = 26;
  #highest = 0;
  #body = h('div', { role: 'rowgroup', class: 'body' });
  #heads = new Map();
  #nothing = h('p', { class: 'nothing', hidden: true });
  #grid;
  #onChoose;

  constructor(element, onChoose) {
    this.#onChoose = onChoose;
    const heads = COLUMNS.map(([name, title, figure]) => {
      const head = h('div', { role: 'columnheader', class: `c-${name}` });
      if (!figure) {
        head.append(title);
        return head;
      }
      const sort = () => {
        this.rows.sortBy(figure);
        this.#draw();
      };
      head.append(h('button', { type: 'button', title: 'Sort siblings, the highest first', on: { click: sort } }, title));
      this.#heads.set(figure, head);
      return head;
    });
    const head = h('div', { role: 'rowgroup', class: 'head' }, h('div', { role: 'row', class: 'row', 'aria-rowindex': 1 }, ...heads));
    this.#grid = h('div', { role: 'treegrid', class: 'tree', 'aria-label': 'Tasks and strands' }, head, this.#body);
    element.append(this.#grid, this.#nothing);
    this.#grid.addEventListener('scroll', () => this.#draw(), { passive: true });
    this.#grid.addEventListener('keydown', (event) => this.#key(event));
    this.#body.addEventListener('click', (event) => this.#click(event));
    this.#body.addEventListener('focusin', (event) => this.#activate(event.target.closest('[role=row]')?.key));
    new ResizeObserver(() => this.#measure()).observe(this.#grid);
  }

  update(tasks, wanted) {
    const before = this.#anchor();
    this.rows.update(tasks);
    this.#wanted = wanted.toLowerCase();
    this.#settle(before);
    this.#nothing.hidden = this.rows.all.length > 0;
    setText(this.#nothing, wanted ? `Nothing that is alive matches “${wanted}”.` : 'Nothing is alive.');
  }

  setAll(open) {
    const before = this.#anchor();
    this.rows.setAll(open);
    this.#settle(before);
  }

  /** Shows a task and gives it the focus, if it is listed. */
  reveal(id) {
    const row = this.rows.reveal(id);
    if (row) this.#go(this.rows.all.indexOf(row));
    return Boolean(row);
  }

  /** The line that should stay where it is: the active one if it is in sight, or the first in sight. */
  #anchor() {
    const top = this.#grid.scrollTop;
    const active = this.#indexOf(this.#active);
    const place = active * this.#height - top;
    const inSight = active >= 0 && place >= 0 && place < this.#grid.clientHeight && this.#body.contains(document.activeElement);
    const index = inSight ? active : Math.floor(top / this.#height);
    return { index, active, key: top > 0 || inSight ? this.rows.all[index]?.key : null };
  }

  #settle({ index, active, key }) {
    const hadFocus = this.#body.contains(document.activeElement);
    const now = key ? this.#indexOf(key) : -1;
    this.#resize();
    if (now >= 0 && now !== index) this.#grid.scrollTop += (now - index) * this.#height;
    // Whoever ended is followed by the one that stands there now.
    if (this.#indexOf(this.#active) < 0) {
      const next = this.rows.all[Math.min(Math.max(active, 0), this.rows.all.length - 1)];
      this.#active = next?.key ?? null;
    }
    this.#draw(hadFocus);
  }

  #indexOf(key) {
    return key === null ? -1 : this.rows.all.findIndex((row) => row.key === key);
  }

  #measure() {
    this.#height = parseFloat(getComputedStyle(this.#grid).getPropertyValue('--row')) || 26;
    this.#resize();
    this.#draw();
  }

  /** The page below never moves up by itself: the tree gets higher as it needs to, not lower. */
  #resize() {
    const height = this.rows.all.length * this.#height;
    this.#body.style.height = `${height}px`;
    if (height > this.#highest) this.#grid.style.setProperty('--body', `${(this.#highest = height)}px`);
  }

  #draw(hadFocus = this.#body.contains(document.activeElement)) {
    const all = this.rows.all;
    const first = Math.max(0, Math.floor(this.#grid.scrollTop / this.#height) - BEYOND);
    const last = Math.min(all.length, Math.ceil((this.#grid.scrollTop + this.#grid.clientHeight) / this.#height) + BEYOND);
    const active = this.#indexOf(this.#active);
    const shown = [];
    for (let index = first; index < last; index += 1) shown.push(index);
    // The active line is always there, or the focus would be lost.
    if (active >= 0 && active < first) shown.unshift(active);
    if (active >= last) shown.push(active);
    const keys = new Set(shown.map((index) => all[index].key));
    for (const [key, line] of this.#lines) {
      if (keys.has(key)) continue;
      line.element.remove();
      this.#lines.delete(key);
    }
    let next = this.#body.firstChild;
    for (const index of shown) {
      const row = all[index];
      let line = this.#lines.get(row.key);
      if (!line) {
        line = new Line();
        line.element.key = row.key;
        this.#lines.set(row.key, line);
      }
      line.update(row, index, index === active, this.#wanted);
      if (line.element === next) next = next.nextSibling;
      else this.#body.insertBefore(line.element, next);
    }
    for (const [figure, head] of this.#heads) setAttribute(head, 'aria-sort', this.rows.sort === figure ? 'descending' : 'none');
    setAttribute(this.#grid, 'aria-rowcount', all.length + 1);
    if (hadFocus && active >= 0) {
      const { element } = this.#lines.get(this.#active);
      if (document.activeElement !== element) element.focus({ preventScroll: true });
    }
    this.#onChoose(active >= 0 ? all[active] : null);
  }

  #activate(key) {
    if (!key || key === this.#active) return;
    this.#active = key;
    this.#draw();
  }

  /** Makes a line the active one, in sight and with the focus. */
  #go(index) {
    const row = this.rows.all[Math.min(Math.max(index, 0), this.rows.all.length - 1)];
    if (!row) return;
    const at = this.#indexOf(row.key) * this.#height;
    const head = this.#grid.firstChild.offsetHeight;
    const bottom = this.#grid.scrollTop + this.#grid.clientHeight - head;
    this.#resize();
    if (at < this.#grid.scrollTop) this.#grid.scrollTop = at;
    else if (at + this.#height > bottom) this.#grid.scrollTop = at + this.#height - (bottom - this.#grid.scrollTop);
    this.#active = row.key;
    this.#draw(true);
  }

  #toggle(row, open) {
    const before = this.#anchor();
    this.rows.toggle(row, open);
    this.#settle(before);
  }

  #click(event) {
    const element = event.target.closest('[role=row]');
    if (!element) return;
    const index = this.#indexOf(element.key);
    if (index < 0) return;
    const row = this.rows.all[index];
    this.#go(index);
    if (row.hasChildren && (event.target.closest('.twist') || event.detail === 2)) this.#toggle(row);
  }

  #key(event) {
    const index = this.#indexOf(this.#active);
    if (index < 0 || event.ctrlKey || event.metaKey || event.altKey || !this.#body.contains(event.target)) return;
    const row = this.rows.all[index];
    const page = Math.max(1, Math.floor(this.#grid.clientHeight / this.#height) - 2);
    const steps = {
      ArrowDown: () => this.#go(index + 1),
      ArrowUp: () => this.#go(index - 1),
      Home: () => this.#go(0),
      End: () => this.#go(Infinity),
      PageDown: () => this.#go(index + page),
      PageUp: () => this.#go(index - page),
      ArrowRight: () => (row.isOpen ? this.#go(index + 1) : row.hasChildren && this.#toggle(row, true)),
      ArrowLeft: () => (row.isOpen ? this.#toggle(row, false) : row.parent !== null && this.#go(this.#indexOf(row.parent))),
      Enter: () => row.hasChildren && this.#toggle(row),
      ' ': () => row.hasChildren && this.#toggle(row),
    };
    if (!steps[event.key]) return;
    event.preventDefault();
    steps[event.key]();
  }
}
