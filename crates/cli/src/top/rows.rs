//! The tasks in order: by a column, or as a tree whose siblings are in that order.

use super::state::Task;
use super::view::View;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// What the rows can be sorted by, from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Name,
    Id,
    Kind,
    State,
    Since,
    Age,
    Polls,
    Busy,
}

impl Column {
    const ALL: [Self; 8] =
        [Self::Name, Self::Id, Self::Kind, Self::State, Self::Since, Self::Age, Self::Polls, Self::Busy];

    pub(super) fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }

    pub(super) fn last(self) -> Self {
        Self::ALL[(self as usize + Self::ALL.len() - 1) % Self::ALL.len()]
    }

    /// Large figures are what one looks for, but texts are read from A to Z.
    pub(super) fn is_largest_first(self) -> bool {
        matches!(self, Self::Since | Self::Age | Self::Polls | Self::Busy)
    }

    fn compare(self, one: &Task, other: &Task) -> Ordering {
        let order = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            (one, other) => one.is_some().cmp(&other.is_some()),
        };
        match self {
            Self::Name => one.title().cmp(other.title()),
            Self::Id => one.id.cmp(&other.id),
            Self::Kind => one.kind.cmp(&other.kind),
            Self::State => one.doing().cmp(other.doing()),
            Self::Since => order(one.waits, other.waits),
            Self::Age => order(one.age, other.age),
            Self::Polls => order(one.rate, other.rate),
            // By whole percents: rows that are alike stay where they are.
            Self::Busy => order(one.share.map(percents), other.share.map(percents)),
        }
    }
}

fn percents(share: f64) -> f64 {
    (share * 100.0).round()
}

impl Task {
    /// Its name, or where it was spawned.
    pub(super) fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.spawned_at)
    }

    /// What it waits for, or else its state.
    pub(super) fn doing(&self) -> &str {
        self.waits_for.as_deref().filter(|_| self.state == "waiting").unwrap_or(&self.state)
    }
}

/// A task, and the branch that leads to it.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub(super) task: &'a Task,
    pub(super) branch: String,
}

pub(super) fn rows<'a>(tasks: &'a [Task], view: &View) -> Vec<Row<'a>> {
    let wanted = view.search.to_lowercase();
    let has = |task: &Task| wanted.is_empty() || task.has(&wanted);
    let order = |one: &&Task, other: &&Task| {
        let order = view.sort.compare(one, other);
        let order = if view.descending { order.reverse() } else { order };
        order.then(one.id.cmp(&other.id))
    };
    if !view.tree {
        let mut found: Vec<_> = tasks.iter().filter(|task| has(task)).collect();
        found.sort_by(order);
        return found.into_iter().map(|task| Row { task, branch: String::new() }).collect();
    }
    let by_id: HashMap<_, _> = tasks.iter().map(|task| (task.id, task)).collect();
    let shown = with_ancestors(tasks.iter().filter(|task| has(task)), &by_id);
    let mut children: HashMap<Option<u64>, Vec<&Task>> = HashMap::new();
    for task in tasks.iter().filter(|task| shown.contains(&task.id)) {
        let parent = task.parent.filter(|parent| by_id.contains_key(parent) && *parent != task.id);
        children.entry(parent).or_default().push(task);
    }
    children.values_mut().for_each(|siblings| siblings.sort_by(order));
    grown(&mut children)
}

fn with_ancestors<'a>(found: impl Iterator<Item = &'a Task>, by_id: &HashMap<u64, &'a Task>) -> HashSet<u64> {
    let mut shown = HashSet::new();
    for task in found {
        let mut next = Some(task);
        while let Some(task) = next.filter(|task| shown.insert(task.id)) {
            next = task.parent.and_then(|parent| by_id.get(&parent)).copied();
        }
    }
    shown
}

/// The tree from its roots on. Each list of children is taken once, so it ends whatever the parents are.
fn grown<'a>(children: &mut HashMap<Option<u64>, Vec<&'a Task>>) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    let roots = children.remove(&None).unwrap_or_default();
    // To be shown next, last one first: a task, what leads to it, and what leads to its children.
    let mut open: Vec<_> = roots.into_iter().rev().map(|task| (task, String::new(), String::new())).collect();
    while let Some((task, branch, stem)) = open.pop() {
        let below = children.remove(&Some(task.id)).unwrap_or_default();
        for (at, child) in below.into_iter().rev().enumerate() {
            let (bend, on) = if at == 0 { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            open.push((child, format!("{stem}{bend}"), format!("{stem}{on}")));
        }
        rows.push(Row { task, branch });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family() -> Vec<Task> {
        let task = |id: u64, parent: Option<u64>, name: &str| Task {
            id,
            parent,
            name: Some(name.to_owned()),
            state: "waiting".to_owned(),
            age: (id != 3).then_some(id as f64),
            ..Task::default()
        };
        vec![
            task(1, None, "root"),
            task(2, Some(1), "b"),
            task(3, Some(1), "a"),
            task(4, Some(2), "leaf"),
            task(5, Some(99), "orphan"),
        ]
    }

    fn shown(view: &View) -> Vec<String> {
        let tasks = family();
        rows(&tasks, view).iter().map(|row| format!("{}{}", row.branch, row.task.title())).collect()
    }

    #[test]
    fn rows_are_sorted_by_a_column_and_those_without_a_figure_are_last() {
        let mut view = View::new();
        (view.sort, view.descending) = (Column::Age, true);
        assert_eq!(shown(&view), ["orphan", "leaf", "b", "root", "a"]);
        (view.sort, view.descending) = (Column::Name, false);
        assert_eq!(shown(&view), ["a", "b", "leaf", "orphan", "root"]);
    }

    #[test]
    fn a_tree_has_its_siblings_in_order() {
        let mut view = View::new();
        (view.tree, view.sort, view.descending) = (true, Column::Name, false);
        assert_eq!(shown(&view), ["orphan", "root", "├─ a", "└─ b", "   └─ leaf"]);
        view.sort = Column::Id;
        assert_eq!(shown(&view), ["root", "├─ b", "│  └─ leaf", "└─ a", "orphan"]);
    }

    #[test]
    fn a_search_finds_alone_or_with_those_above() {
        let mut view = View::new();
        view.search = "LEAF".to_owned();
        assert_eq!(shown(&view), ["leaf"]);
        view.tree = true;
        assert_eq!(shown(&view), ["root", "└─ b", "   └─ leaf"]);
    }

    #[test]
    fn parents_in_a_circle_do_no_harm() {
        let task = |id, parent| Task { id, parent: Some(parent), ..Task::default() };
        let (tasks, mut view) = ([task(1, 2), task(2, 1), task(3, 3)], View::new());
        view.tree = true;
        assert_eq!(rows(&tasks, &view).len(), 1, "its own parent is a root; the circle has none");
    }

    #[test]
    fn columns_go_round() {
        assert_eq!((Column::Busy.next(), Column::Name.last()), (Column::Name, Column::Busy));
        assert!(Column::ALL.iter().all(|column| column.next().last() == *column));
    }
}
