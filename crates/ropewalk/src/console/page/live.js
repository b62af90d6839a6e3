// Whether what is shown is what is.

import { find, setShape, setText, shape } from './dom.js';

const SHAPES = { connecting: 'ring', live: 'full', paused: 'bars', stale: 'alarm', lost: 'alarm', ended: 'square' };

const box = find('live');
const drawing = shape('ring');
find('live-shape').replaceWith(drawing);

/** It is read out when it changes, so it says nothing that changes all the time. */
export function showLive(state, text) {
  box.dataset.live = state;
  setShape(drawing, SHAPES[state]);
  setText(find('live-text'), text);
}
