// The console: asks the program every so often, and shows what it says.

import { Refused, address, askState } from './api.js';
import { Details } from './details.js';
import { dialogs } from './dialogs.js';
import { find, setText } from './dom.js';
import { History } from './history.js';
import { showLive } from './live.js';
import { Pools } from './pool.js';
import { Process } from './process.js';
import { count, span } from './text.js';
import { Tree } from './tree.js';

/** After so long without a key, what was typed is searched for. */
const PAUSE_IN_TYPING = 150;
/** Without an answer for so long, what is shown is old; and for so long, there will be none. */
const PATIENCE = 3000;
const LONGEST = 20_000;
/** When the runtime has ended: another program may begin at this address. */
const AFTER_THE_END = 5000;

const [search, limit, interval, pause, trouble] = ['search', 'limit', 'interval', 'pause', 'trouble'].map(find);
const history = new History();
const process = new Process(find('process'));
const pools = new Pools(find('pools'), (poll) => goTo(poll.task));
const details = new Details(find('details'), goTo);
const tree = new Tree(find('tree'), (row) => details.show(row));

let isPaused = false;
let hasEnded = false;
let isLost = false;
let asking = null;
let timer = null;
let answeredAt = performance.now();
/** The task to go to once it is listed. */
let awaited = null;
/** The search of which the result was read out. */
let said = '';

const wanted = () => search.value.trim();

/** One question. A newer one takes the place of one that is under way. */
async function refresh() {
  clearTimeout(timer);
  asking?.abort();
  const own = (asking = new AbortController());
  const begun = performance.now();
  const late = setTimeout(() => { if (!isLost) showLive('stale', 'no answer yet'); }, Math.max(PATIENCE, 2 * interval.value));
  try {
    show(await askState(limit.value, wanted(), AbortSignal.any([own.signal, AbortSignal.timeout(LONGEST)])));
  } catch (error) {
    if (own.signal.aborted) return;
    fail(error);
  } finally {
    clearTimeout(late);
  }
  if (own !== asking) return;
  asking = null;
  schedule(Math.max(50, interval.value - (performance.now() - begun)));
}

function schedule(after) {
  clearTimeout(timer);
  if (!isPaused) timer = setTimeout(refresh, hasEnded ? Math.max(after, AFTER_THE_END) : after);
}

function show(state) {
  answeredAt = performance.now();
  isLost = false;
  trouble.hidden = find('token-form').hidden = true;
  // While it is paused one may search, and the rest stays as it is.
  if (!isPaused) {
    history.add(state);
    showHeader(state);
    process.update(state, history.figures.rates);
    pools.update(state, history);
  }
  showTasks(state);
  hasEnded = state.ended;
  if (hasEnded) showLive('ended', 'ended: this is how it was last');
  else if (isPaused) showLive('paused', 'paused');
  else showLive('live', 'live');
}

function showHeader(state) {
  setText(find('program'), state.program || 'ropewalk');
  document.title = `${state.program || 'ropewalk'} · Ropewalk console`;
  setText(find('pid'), state.pid);
  setText(find('uptime'), span(Math.floor(state.uptime_ms / 1e3) * 1e3));
  setText(find('alive'), count(state.pools.reduce((sum, pool) => sum + pool.alive, 0)));
  setText(find('strands'), count(state.pools.reduce((sum, pool) => sum + pool.strands, 0)));
}

function showTasks({ tasks, capabilities }) {
  tree.update(tasks.list, wanted());
  const listed = `${count(tasks.listed)} listed`;
  // Beyond what there was time for nobody looked.
  const matching = `${tasks.cut_short ? 'at least ' : ''}${count(tasks.matching)}`;
  const found = wanted() ? `${matching} of ${count(tasks.alive)} match` : tasks.listed < tasks.alive ? `${listed} of ${count(tasks.alive)}` : listed;
  setText(find('found'), found);
  // Read out is what a search has found, not how figures change.
  if (said !== wanted()) setText(find('found-said'), found);
  said = wanted();
  find('hint').hidden = capabilities.observed || tasks.list.every((task) => task.age_ms != null);
  if (awaited !== null) {
    tree.reveal(awaited);
    awaited = null;
  }
}

function fail(error) {
  isLost = true;
  const isToken = error instanceof Refused && error.status === 401;
  find('token-form').hidden = !isToken;
  trouble.hidden = isToken;
  const seconds = span(performance.now() - answeredAt);
  // It is read out when it changes: what changes all the time stands beside it.
  if (error instanceof Refused) setText(find('trouble-text'), `The console refuses: ${error.message}`);
  else setText(find('trouble-text'), 'The program does not answer: it has ended, or was stopped. The page goes on asking.');
  setText(find('trouble-age'), `What is shown is ${seconds} old.`);
  showLive('lost', isToken ? 'a token is needed' : 'no answer');
}

/** Shows a task, also if it is not listed yet. */
function goTo(id) {
  if (tree.reveal(id)) return;
  search.value = String(id);
  awaited = id;
  refresh();
}

let typing = null;
search.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(refresh, PAUSE_IN_TYPING);
});
search.addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown') document.querySelector('.tree .body [tabindex="0"]')?.focus();
  if (event.key !== 'Escape' || !search.value) return;
  event.preventDefault();
  search.value = '';
  refresh();
});
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, select, textarea, dialog');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  search.focus();
  search.select();
});
pause.addEventListener('click', () => {
  isPaused = !isPaused;
  pause.setAttribute('aria-pressed', isPaused);
  if (isPaused) {
    clearTimeout(timer);
    asking?.abort();
    showLive('paused', 'paused');
  } else refresh();
});
interval.addEventListener('change', () => schedule(0));
limit.addEventListener('change', refresh);
find('open-all').addEventListener('click', () => tree.setAll(true));
find('close-all').addEventListener('click', () => tree.setAll(false));
find('metrics').href = address('metrics');

details.show(null);
dialogs();
refresh();
