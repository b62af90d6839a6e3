//! Children beneath their parents.

use super::DumpedTask;
use crate::task::TaskId;
use std::collections::HashMap;

/// The same tasks: each is followed by its children and all that stems from them; otherwise they are in the order of their ids.
pub(super) fn ordered(mut tasks: Vec<DumpedTask>) -> Vec<DumpedTask> {
    tasks.sort_by_key(|task| task.info.id);
    let places: HashMap<TaskId, usize> =
        tasks.iter().enumerate().map(|(place, task)| (task.info.id, place)).collect();
    let (mut roots, mut children) = (Vec::new(), HashMap::<usize, Vec<usize>>::new());
    for (place, task) in tasks.iter().enumerate() {
        // One that is not listed counts as none.
        match task.info.parent.and_then(|parent| places.get(&parent)) {
            Some(parent) => children.entry(*parent).or_default().push(place),
            None => roots.push(place),
        }
    }
    let mut rest: Vec<Option<DumpedTask>> = tasks.into_iter().map(Some).collect();
    let mut next: Vec<(usize, usize)> = roots.into_iter().rev().map(|root| (root, 0)).collect();
    let mut ordered = Vec::with_capacity(rest.len());
    while let Some((place, depth)) = next.pop() {
        let below = children.remove(&place).unwrap_or_default();
        next.extend(below.into_iter().rev().map(|child| (child, depth + 1)));
        ordered.extend(rest[place].take().map(|task| DumpedTask { depth, ..task }));
    }
    ordered
}
