// The dump, to read, and the trace, to save.

import { address, ask } from './api.js';
import { find, setText } from './dom.js';
import { bytes, plural } from './text.js';

/** A file name with the program and the time in it. */
function fileName(what, ending) {
  const time = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  return `${find('program').textContent}-${find('pid').textContent}-${what}-${time}.${ending}`.replace(/[^\w.-]+/g, '_');
}

function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function copy(text, element) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // Not by https or loopback: the old way.
  getSelection().selectAllChildren(element);
  if (!document.execCommand('copy')) throw new Error('the browser does not let the page copy');
}

function dumps() {
  const [dialog, pre, said, link] = ['dump-dialog', 'dump-text', 'dump-said', 'dump-save'].map(find);
  async function take() {
    setText(said, 'asking everybody ...');
    try {
      const text = await (await ask('api/dump.txt')).text();
      pre.textContent = text;
      if (link.href) URL.revokeObjectURL(link.href);
      link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
      link.download = fileName('dump', 'txt');
      setText(said, `${plural(text.trimEnd().split('\n').length, 'line')}, taken at ${new Date().toLocaleTimeString()}`);
    } catch (error) {
      setText(said, `There is no dump: ${error.message}`);
    }
  }
  find('dump-json').href = address('api/dump.json');
  find('dump').addEventListener('click', () => {
    dialog.showModal();
    pre.focus();
    take();
  });
  find('dump-again').addEventListener('click', take);
  find('dump-copy').addEventListener('click', async () => {
    try {
      await copy(pre.textContent, pre);
      setText(said, 'Copied.');
    } catch (error) {
      setText(said, `Not copied: ${error.message}`);
    }
  });
}

function traces() {
  const [dialog, start, seconds, progress, said] = ['trace-dialog', 'trace-start', 'trace-seconds', 'trace-progress', 'trace-said'].map(find);
  find('trace').addEventListener('click', () => dialog.showModal());
  find('trace-form').addEventListener('submit', async (event) => {
    event.preventDefault();
    const [time, begun] = [Number(seconds.value) * 1e3, performance.now()];
    const clock = setInterval(() => { progress.value = Math.min(1, (performance.now() - begun) / time); }, 100);
    start.disabled = true;
    progress.classList.add('on');
    setText(said, `Recording for ${seconds.value} s ...`);
    try {
      const blob = await (await ask('api/trace', { seconds: seconds.value })).blob();
      const name = fileName('trace', 'json');
      save(blob, name);
      setText(said, `Saved ${bytes(blob.size)} as ${name}.`);
    } catch (error) {
      setText(said, `There is no trace: ${error.message}`);
    } finally {
      clearInterval(clock);
      progress.value = 0;
      progress.classList.remove('on');
      start.disabled = false;
    }
  });
}

export function dialogs() {
  dumps();
  traces();
  for (const button of document.querySelectorAll('[data-close]')) {
    button.addEventListener('click', () => button.closest('dialog').close());
  }
}
