// What was seen over the last two minutes: rates are differences of two answers. Times are those since the console began: a clock on the
// wall may be set.

export const WINDOW = 120_000;
/** A worker's state is remembered for so many looks. */
const LOOKS = 60;
/** Two answers that are closer together give no good rate. */
const NEAR = 200;

const sum = (workers, name) => workers.reduce((total, worker) => total + (worker[name] ?? 0), 0);

class PoolHistory {
  samples = [];
  /** Of each worker: rates by the names of counters, and its last states. */
  workers = [];
  /** Rates of the whole pool. */
  rates = {};
  #last = null;

  add(at, pool) {
    const passed = this.#last ? (at - this.#last.at) / 1e3 : 0;
    if (this.#last && passed * 1e3 < NEAR) return;
    const sample = { at, depth: pool.injected + sum(pool.workers, 'queued'), alive: pool.alive };
    const rates = {};
    pool.workers.forEach((worker, index) => {
      const seen = (this.workers[index] ??= { rates: {}, looks: [] });
      seen.looks.push(worker.state);
      if (seen.looks.length > LOOKS) seen.looks.shift();
      const before = this.#last?.workers[index];
      if (!passed) return;
      for (const [name, value] of Object.entries(worker)) {
        if (typeof value !== 'number') continue;
        const rate = Math.max(0, value - (before?.[name] ?? 0)) / passed;
        seen.rates[name] = rate;
        rates[name] = (rates[name] ?? 0) + rate;
      }
    });
    if (passed) {
      this.rates = rates;
      Object.assign(sample, { polls: rates.polls ?? 0, wakes: rates.wakes ?? 0 });
    }
    this.samples.push(sample);
    while (this.samples[0].at < at - WINDOW - 10_000) this.samples.shift();
    this.#last = { at, workers: pool.workers };
  }
}

/** Of single figures beside the pools. */
class Figures {
  rates = {};
  #last = null;

  add(at, figures) {
    const passed = this.#last ? at - this.#last.at : 0;
    if (this.#last && passed < NEAR) return;
    for (const [name, value] of Object.entries(figures)) {
      if (this.#last) this.rates[name] = (Math.max(0, value - this.#last.figures[name]) / passed) * 1e3;
    }
    this.#last = { at, figures };
  }
}

export class History {
  #pools = new Map();
  #process = null;
  #uptime = 0;
  figures = new Figures();

  add(state) {
    const at = state.uptime_ms;
    // Another process at the same address begins anew; in a container it has the same number.
    if (this.#process !== state.pid || at < this.#uptime) {
      this.#process = state.pid;
      this.#pools.clear();
      this.figures = new Figures();
    }
    this.#uptime = at;
    for (const pool of state.pools) this.pool(pool.name).add(at, pool);
    for (const name of this.#pools.keys()) if (!state.pools.some((pool) => pool.name === name)) this.#pools.delete(name);
    this.figures.add(at, {
      finished: state.blocking.finished,
      polls: state.io?.polls ?? 0,
      events: state.io?.events ?? 0,
    });
  }

  pool(name) {
    if (!this.#pools.has(name)) this.#pools.set(name, new PoolHistory());
    return this.#pools.get(name);
  }
}
