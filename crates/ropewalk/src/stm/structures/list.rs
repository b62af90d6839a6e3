//! An immutable list that shares its tail: what a queue is made of.

use std::sync::Arc;

#[derive(Clone)]
pub(super) struct List<T>(Option<Arc<Node<T>>>);

struct Node<T> {
    value: T,
    rest: List<T>,
}

impl<T> List<T> {
    pub(super) const EMPTY: Self = Self(None);

    pub(super) fn with(self, value: T) -> Self {
        Self(Some(Arc::new(Node { value, rest: self })))
    }

    pub(super) fn first(&self) -> Option<(&T, &Self)> {
        self.0.as_ref().map(|node| (&node.value, &node.rest))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::successors(self.0.as_deref(), |node| node.rest.0.as_deref()).map(|node| &node.value)
    }
}

impl<T: Clone> List<T> {
    pub(super) fn reversed(&self) -> Self {
        self.iter().fold(Self::EMPTY, |list, value| list.with(value.clone()))
    }
}

/// Node by node: a long list would otherwise need a stack as long.
impl<T> Drop for List<T> {
    fn drop(&mut self) {
        let mut node = self.0.take();
        while let Some(mut last) = node.and_then(Arc::into_inner) {
            node = last.rest.0.take();
        }
    }
}
