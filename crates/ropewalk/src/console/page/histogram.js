// How often something took how long, since the console began. Both axes are logarithmic: what is rare and long is what matters.

import { onResize } from './chart.js';
import { h, s, setAttribute, setText } from './dom.js';
import { count, nanos, short, tick } from './text.js';

const HEIGHT = 150;
const [LEFT, RIGHT, TOP, BOTTOM] = [36, 22, 20, 18];
const MARKS = [['p50', 'p50_ns'], ['p99', 'p99_ns'], ['p99.9', 'p999_ns'], ['max', 'max_ns']];
/** What has no end is drawn as if it ended here. */
const LONGEST = 2 ** 37;

const decade = (ns) => `${nanos(ns).replace(/\.0+(?= )/, '')}`;

/** Two bars to each doubling: never finer than what was counted. */
function bars(buckets) {
  const found = new Map();
  for (const [end, times] of buckets) {
    const index = Math.ceil(Math.log2(end ?? LONGEST) * 2 - 1e-9);
    found.set(index, (found.get(index) ?? 0) + times);
  }
  return [...found].map(([index, times]) => ({ from: 2 ** ((index - 1) / 2), to: 2 ** (index / 2), times }));
}

export class HistogramView {
  #title;
  #shown = null;
  #parts;

  constructor(title, about) {
    this.#title = title;
    const [axes, area, marks] = [s('g'), s('path', { class: 'bars' }), s('g')];
    const svg = s('svg', { role: 'img', height: HEIGHT, class: 'plot' }, axes, area, marks);
    const cells = Object.fromEntries([...MARKS, ['mean', 'mean_ns'], ['count', 'count']].map(([, name]) => [name, h('td', {}, '–')]));
    const heads = [...MARKS.map(([label]) => label), 'mean', 'count'].map((label) => h('th', { scope: 'col' }, label));
    const table = h('table', { class: 'quantiles', 'aria-label': title },
      h('thead', {}, h('tr', {}, ...heads)), h('tbody', {}, h('tr', {}, ...Object.values(cells))));
    const nothing = h('p', { class: 'nothing' }, 'Nothing measured yet.');
    const caption = h('figcaption', {}, h('span', { class: 'title' }, title), h('span', { class: 'when' }, about));
    this.element = h('figure', { class: 'chart histogram' }, caption, h('div', { class: 'canvas' }, svg, nothing), table);
    this.#parts = { svg, axes, area, marks, cells, nothing };
    onResize(svg, () => this.#draw());
  }

  update(histogram) {
    this.#shown = histogram;
    const { cells } = this.#parts;
    for (const [name, cell] of Object.entries(cells)) {
      if (name === 'count') setText(cell, histogram.count < 1e6 ? count(histogram.count) : short(histogram.count));
      else setText(cell, histogram.count ? nanos(histogram[name]) : '–');
    }
    this.#draw();
  }

  #draw() {
    const { svg, axes, area, marks, nothing } = this.#parts;
    const [width, shown] = [svg.clientWidth, this.#shown];
    const has = Boolean(shown?.buckets.length);
    nothing.hidden = has;
    if (!width || !has) {
      setAttribute(svg, 'aria-label', `${this.#title}: nothing measured yet`);
      return;
    }
    const all = bars(shown.buckets);
    const most = Math.max(...all.map((bar) => bar.times));
    const ceiling = 10 ** Math.max(1, Math.ceil(Math.log10(most * 1.0001)));
    const lows = Math.floor(Math.log10(Math.min(...all.map((bar) => bar.from))));
    const highs = Math.max(lows + 2, Math.ceil(Math.log10(Math.max(...all.map((bar) => bar.to), shown.max_ns))));
    const x = (ns) => LEFT + ((Math.log10(Math.max(ns, 1)) - lows) / (highs - lows)) * (width - LEFT - RIGHT);
    // Half a decade below one, so that what happened once is seen.
    const y = (times) => TOP + (1 - (Math.log10(times) + 0.5) / (Math.log10(ceiling) + 0.5)) * (HEIGHT - TOP - BOTTOM);
    const base = HEIGHT - BOTTOM;

    const lines = [];
    const step = Math.ceil(Math.log10(ceiling) / 3);
    for (let power = 0; 10 ** power <= ceiling; power += step) {
      const at = y(10 ** power);
      lines.push(s('line', { class: 'grid', x1: LEFT, x2: width - RIGHT, y1: at, y2: at }),
        s('text', { class: 'tick', x: LEFT - 5, y: at + 3.5, 'text-anchor': 'end' }, tick(10 ** power)));
    }
    const skip = Math.ceil((highs - lows) / ((width - LEFT - RIGHT) / 46));
    for (let power = lows; power <= highs; power += skip) {
      lines.push(s('line', { class: 'grid', x1: x(10 ** power), x2: x(10 ** power), y1: TOP, y2: base }),
        s('text', { class: 'tick', x: x(10 ** power), y: HEIGHT - 4, 'text-anchor': 'middle' }, decade(10 ** power)));
    }
    axes.replaceChildren(...lines);
    setAttribute(area, 'd', all.map(({ from, to, times }) => {
      const [left, right, top] = [x(from) + 0.5, x(to) - 0.5, y(times)];
      return `M${left.toFixed(1)} ${base}V${top.toFixed(1)}H${Math.max(right, left + 1).toFixed(1)}V${base}Z`;
    }).join(''));

    // From right to left, so that names do not lie on each other.
    let limit = width - 2;
    const named = [...MARKS].reverse().flatMap(([label, name]) => {
      const [at, half] = [x(shown[name]), label.length * 3.1];
      const middle = Math.min(at, limit - half);
      limit = middle - half - 5;
      return [s('path', { class: 'mark', d: `M${at.toFixed(1)} ${base}V${TOP}L${middle.toFixed(1)} ${TOP - 6}` }),
        s('text', { class: 'name', x: middle, y: TOP - 8, 'text-anchor': 'middle' }, label)];
    });
    marks.replaceChildren(...named);
    const quantiles = MARKS.map(([label, name]) => `${label} ${nanos(shown[name])}`).join(', ');
    setAttribute(svg, 'aria-label', `${this.#title} of ${count(shown.count)}: ${quantiles}; both axes logarithmic`);
  }
}
