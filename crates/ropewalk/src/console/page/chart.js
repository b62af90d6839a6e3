// One figure over the last two minutes.

import { h, s, setAttribute, setText } from './dom.js';
import { WINDOW } from './history.js';
import { niceAbove, short, tick } from './text.js';

const HEIGHT = 104;
const [LEFT, RIGHT, TOP, BOTTOM] = [36, 8, 8, 18];
/** Between two samples that are further apart nothing is drawn. */
const GAP = 12_000;

const redraws = new WeakMap();
const resized = new ResizeObserver((entries) => entries.forEach(({ target }) => redraws.get(target)?.()));

/** Calls back when an element has got another width. */
export function onResize(element, run) {
  redraws.set(element, run);
  resized.observe(element);
}

export class Chart {
  #name;
  #unit;
  #samples = [];
  #now = 0;
  #pointer = null;
  #parts;

  /** `name` is the figure's name in a sample. */
  constructor(title, name, unit) {
    this.#name = name;
    this.#unit = unit;
    const grid = [0, 1, 2].map(() => ({ line: s('line', { class: 'grid' }), label: s('text', { class: 'tick', 'text-anchor': 'end' }) }));
    const times = ['−2 min', '−1 min', 'now'].map((text, index) =>
      s('text', { class: 'tick', 'text-anchor': ['start', 'middle', 'end'][index] }, text));
    const [area, line] = [s('path', { class: 'area' }), s('path', { class: 'line' })];
    const [rule, dot] = [s('line', { class: 'rule' }), s('circle', { class: 'dot', r: 2.5 })];
    const svg = s('svg', { role: 'img', height: HEIGHT, class: 'plot' },
      ...grid.flatMap(({ line, label }) => [line, label]), ...times, area, line, rule, dot);
    const [value, when] = [h('span', { class: 'value' }, '–'), h('span', { class: 'when' })];
    const caption = h('figcaption', {}, h('span', { class: 'title' }, title), when, value);
    this.element = h('figure', { class: 'chart' }, caption, svg);
    this.title = title;
    this.#parts = { svg, grid, times, area, line, rule, dot, value, when };
    svg.addEventListener('pointermove', (event) => this.#point(event.offsetX));
    svg.addEventListener('pointerleave', () => this.#point(null));
    onResize(svg, () => this.#draw());
  }

  update(samples, now) {
    this.#samples = samples.filter((sample) => sample[this.#name] !== undefined);
    this.#now = now;
    this.#draw();
  }

  #point(x) {
    this.#pointer = x;
    this.#draw();
  }

  #text(value) {
    return `${short(value)}${this.#unit}`;
  }

  #draw() {
    const { svg, grid, times, area, line, rule, dot, value, when } = this.#parts;
    const width = svg.clientWidth;
    if (!width) return;
    const values = this.#samples.map((sample) => sample[this.#name]);
    const top = niceAbove(Math.max(4, ...values));
    const x = (at) => LEFT + (1 - (this.#now - at) / WINDOW) * (width - LEFT - RIGHT);
    const y = (amount) => TOP + (1 - amount / top) * (HEIGHT - TOP - BOTTOM);
    grid.forEach(({ line, label }, index) => {
      const at = y((top * index) / 2);
      for (const [name, value] of [['x1', LEFT], ['x2', width - RIGHT], ['y1', at], ['y2', at]]) setAttribute(line, name, value);
      setAttribute(label, 'x', LEFT - 5);
      setAttribute(label, 'y', at + 3.5);
      setText(label, tick((top * index) / 2));
    });
    times.forEach((label, index) => {
      label.style.display = index === 1 && width < 200 ? 'none' : '';
      setAttribute(label, 'x', LEFT + ((width - LEFT - RIGHT) * index) / 2);
      setAttribute(label, 'y', HEIGHT - 4);
    });
    const shown = this.#samples.filter((sample) => sample.at >= this.#now - WINDOW);
    const pieces = [];
    shown.forEach((sample, index) => {
      const [px, py] = [x(sample.at).toFixed(1), y(sample[this.#name]).toFixed(1)];
      if (index && sample.at - shown[index - 1].at < GAP) pieces.at(-1).push([px, py]);
      else pieces.push([[px, py]]);
    });
    const path = (points) => points.map((point) => point.join(' ')).join('L');
    setAttribute(line, 'd', pieces.map((points) => `M${path(points)}`).join(''));
    const base = y(0);
    setAttribute(area, 'd', pieces.map((points) => `M${points[0][0]} ${base}L${path(points)}L${points.at(-1)[0]} ${base}Z`).join(''));

    const last = shown.at(-1);
    const at = this.#pointer === null ? null : this.#now - (1 - (this.#pointer - LEFT) / (width - LEFT - RIGHT)) * WINDOW;
    const chosen = at === null ? last : shown.reduce((best, sample) => (Math.abs(sample.at - at) < Math.abs((best ?? sample).at - at) ? sample : best), last);
    const isOld = chosen && chosen !== last;
    for (const part of [rule, dot]) part.style.display = chosen && (part === dot || isOld) ? '' : 'none';
    setText(value, chosen ? this.#text(chosen[this.#name]) : '–');
    setText(when, isOld ? `${Math.round((this.#now - chosen.at) / 1e3)} s ago` : '');
    if (chosen) {
      const [px, py] = [x(chosen.at), y(chosen[this.#name])];
      setAttribute(dot, 'cx', px);
      setAttribute(dot, 'cy', py);
      for (const [name, value] of [['x1', px], ['x2', px], ['y1', TOP], ['y2', base]]) setAttribute(rule, name, value);
    }
    const seen = shown.map((sample) => sample[this.#name]);
    setAttribute(svg, 'aria-label', last
      ? `${this.title}, last two minutes: now ${this.#text(seen.at(-1))}, lowest ${this.#text(Math.min(...seen))}, highest ${this.#text(Math.max(...seen))}`
      : `${this.title}: nothing seen yet`);
  }
}
