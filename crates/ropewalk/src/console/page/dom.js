// Elements, made and changed. Data only ever becomes text, never markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'on') for (const [event, run] of Object.entries(value)) element.addEventListener(event, run);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** An element of HTML. */
export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/** An element of SVG. */
export const s = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** One of the page's own elements. */
export const find = (id) => document.getElementById(id);

/** Changes a text only if it is another one, so that nothing is laid out, or read out, again for nothing. */
export function setText(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

export function setAttribute(element, name, value) {
  if (value == null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** A small drawing that goes with a word. */
export function shape(name) {
  const use = s('use', { href: `#shape-${name}` });
  return s('svg', { class: 'shape', 'aria-hidden': 'true', width: 10, height: 10 }, use);
}

export const setShape = (drawing, name) => setAttribute(drawing.firstChild, 'href', `#shape-${name}`);

/** A text in which what was searched for is marked. */
export function setMarked(element, text, wanted) {
  const key = `${wanted}\n${text}`;
  if (element.marked === key) return;
  element.marked = key;
  const lower = text.toLowerCase();
  if (!wanted || lower.length !== text.length || !lower.includes(wanted)) {
    element.textContent = text;
    return;
  }
  const parts = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), h('mark', {}, text.slice(at, at + wanted.length)));
    from = at + wanted.length;
  }
  element.replaceChildren(...parts, text.slice(from));
}
