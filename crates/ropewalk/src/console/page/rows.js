// The tree of tasks as the lines that are shown. Nothing of the page is known here.

/** So many siblings that are alike become one line; it stays one until fewer than two are left. */
const MANY = 4;
const ORDER = { running: 0, queued: 1, ending: 2, waiting: 3 };

/** A text without what differs between things that are alike: addresses and numbers. */
const pattern = (text) => (text ?? '').replace(/0x[0-9a-f]+|\d+/gi, '*');

/** What siblings that are alike have in common, whatever they do just now. */
const family = (task) => [task.kind, task.pool, pattern(task.name), task.spawned_at].join('|');

/** Figures by which one may sort; of a group the highest, or the sum. */
export const FIGURES = {
  waits_ms: Math.max,
  age_ms: Math.max,
  polls: (one, other) => one + other,
  busy_ns: (one, other) => one + other,
};

/** What somebody waits for, and which of them: "a mutex" and "0x55d0". */
export function reason(text) {
  const [which = ''] = text?.match(/0x[0-9a-f]+/) ?? [];
  return { what: (text ?? '').replace(/ at 0x[0-9a-f]+/, ''), which };
}

function reasonOf(members) {
  const all = members.map((task) => reason(task.waits_for));
  const [things, places] = ['what', 'which'].map((name) => new Set(all.map((one) => one[name])));
  const what = things.size === 1 ? all[0].what : pattern(all[0].what);
  // That each has its own says nothing.
  const which = places.size === 1 ? all[0].which : places.size < all.length ? `${places.size} different` : '';
  return { waits_for: members[0].waits_for && [what, which].filter(Boolean).join(', '), what, which };
}

function groupOf(key, level, parent, members) {
  const [first] = members;
  const same = (read) => (members.every((task) => read(task) === read(first)) ? read(first) : pattern(read(first)));
  const task = { ...first, id: null, name: first.name && same((one) => one.name), ...reasonOf(members) };
  for (const [name, join] of Object.entries(FIGURES)) {
    const known = members.map((one) => one[name]).filter((value) => value != null);
    task[name] = known.length ? known.reduce((one, other) => join(one, other)) : null;
  }
  return { key, level, parent, task, members };
}

export class Rows {
  /** What was closed of what is open unless one closes it, and opened of what is closed: groups. */
  #closed = new Set();
  #opened = new Set();
  #grouped = new Set();
  #tasks = [];
  sort = null;
  all = [];

  update(tasks) {
    this.#tasks = tasks;
    this.#flatten();
  }

  toggle(row, open = !row.isOpen) {
    const [set, is] = row.members ? [this.#opened, open] : [this.#closed, !open];
    if (is) set.add(row.key);
    else set.delete(row.key);
    this.#flatten();
  }

  setAll(open) {
    this.#closed.clear();
    this.#opened.clear();
    this.#flatten();
    if (open) for (const key of this.#grouped) this.#opened.add(key);
    else for (const row of this.all) if (row.isOpen && !row.members) this.#closed.add(row.key);
    this.#flatten();
  }

  sortBy(name) {
    this.sort = this.sort === name ? null : name;
    this.#flatten();
  }

  /** Opens whatever hides a task; its line. */
  reveal(id) {
    const byId = new Map(this.#tasks.map((task) => [task.id, task]));
    for (let task = byId.get(id), tries = 0; task?.parent != null && tries < byId.size; task = byId.get(task.parent), tries += 1) {
      this.#closed.delete(`t${task.parent}`);
    }
    // Each opened group may have others in it.
    for (let tries = 0; tries < 1000; tries += 1) {
      this.#flatten();
      const row = this.all.find((row) => row.task.id === id);
      if (row) return row;
      const group = this.all.find((row) => row.members && !row.isOpen && this.#holds(row, id, byId));
      if (!group) return null;
      this.#opened.add(group.key);
    }
    return null;
  }

  #holds(group, id, byId) {
    const ids = new Set(group.members.map((task) => task.id));
    for (let task = byId.get(id), tries = 0; task && tries < byId.size; task = byId.get(task.parent), tries += 1) {
      if (ids.has(task.id)) return true;
    }
    return false;
  }

  #flatten() {
    const ids = new Set(this.#tasks.map((task) => task.id));
    const children = new Map();
    for (const task of this.#tasks) {
      const parent = ids.has(task.parent) ? task.parent : null;
      if (!children.has(parent)) children.set(parent, []);
      children.get(parent).push(task);
    }
    const [rows, grouped] = [[], new Set()];
    const single = (task, level, parent) => ({ key: `t${task.id}`, level, parent, task, members: null });
    const levels = [this.#arrange(children.get(null) ?? [], 1, null, grouped, single)];
    while (levels.length) {
      const items = levels.at(-1);
      const row = items.next();
      if (!row) {
        levels.pop();
        continue;
      }
      rows.push(row);
      const below = row.members ?? children.get(row.task.id) ?? [];
      row.hasChildren = below.length > 0;
      row.isOpen = row.hasChildren && (row.members ? this.#opened.has(row.key) : !this.#closed.has(row.key));
      if (!row.isOpen) continue;
      if (row.members) levels.push(inOrder(this.#sorted(below.map((task) => single(task, row.level + 1, row.key)))));
      else levels.push(this.#arrange(below, row.level + 1, row.key, grouped, single));
    }
    this.#grouped = grouped;
    this.all = rows;
  }

  /** Siblings in a lasting order: those of a family together, in the order in which the first of each was spawned. */
  #arrange(tasks, level, parent, grouped, single) {
    const [families, alike] = [new Map(), new Map()];
    for (const task of tasks) {
      const name = family(task);
      families.set(name, Math.min(families.get(name) ?? Infinity, task.id));
      const key = `${name}|${task.state}|${pattern(task.waits_for)}`;
      if (!alike.has(key)) alike.set(key, { tasks: [], family: name, key });
      alike.get(key).tasks.push(task);
    }
    const sets = [...alike.values()].sort((one, other) =>
      families.get(one.family) - families.get(other.family)
      || ORDER[one.tasks[0].state] - ORDER[other.tasks[0].state] || (one.key < other.key ? -1 : 1));
    const items = sets.flatMap((set) => {
      const key = `g${parent}/${set.key}`;
      if (set.tasks.length < (this.#grouped.has(key) ? 2 : MANY)) return set.tasks.map((task) => single(task, level, parent));
      grouped.add(key);
      return [groupOf(key, level, parent, set.tasks)];
    });
    return inOrder(this.#sorted(items));
  }

  #sorted(items) {
    const name = this.sort;
    return name ? items.sort((one, other) => (other.task[name] ?? -1) - (one.task[name] ?? -1)) : items;
  }
}

/** One after the other, each knowing where it stands. */
function inOrder(items) {
  let index = 0;
  return {
    next() {
      const row = items[index];
      if (!row) return null;
      index += 1;
      return Object.assign(row, { position: index, siblings: items.length });
    },
  };
}
