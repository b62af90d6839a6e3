//! What the one who looks has chosen: order, search, the row they are at.

use super::keys::Key;
use super::rows::{Column, Row, rows};
use super::state::Task;

/// What a key asks for beyond the view itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Quit,
    /// Stop the process, as ctrl-z does.
    Suspend,
    Dump,
    /// The search is another one, or it goes on after a pause.
    Ask,
}

#[derive(Debug)]
pub(super) struct View {
    pub(super) sort: Column,
    pub(super) descending: bool,
    pub(super) tree: bool,
    pub(super) search: String,
    /// The search is being typed.
    pub(super) typing: bool,
    pub(super) paused: bool,
    pub(super) all_workers: bool,
    pub(super) help: bool,
    /// The task whose details are shown, as it was last seen.
    pub(super) details: Option<Task>,
    /// The chosen row, and the task in it: the row stays with it. No task: the first row.
    pub(super) at: usize,
    pub(super) chosen: Option<u64>,
    /// The first row that is shown, and how many fit.
    pub(super) top: usize,
    pub(super) page: usize,
}

impl View {
    pub(super) fn new() -> Self {
        Self {
            sort: Column::Busy,
            descending: true,
            tree: false,
            search: String::new(),
            typing: false,
            paused: false,
            all_workers: false,
            help: false,
            details: None,
            at: 0,
            chosen: None,
            top: 0,
            page: 1,
        }
    }

    /// The rows in order, and the chosen one found again among them.
    pub(super) fn rows<'a>(&mut self, tasks: &'a [Task]) -> Vec<Row<'a>> {
        let rows = rows(tasks, self);
        let found = self.chosen.and_then(|id| rows.iter().position(|row| row.task.id == id));
        let last = rows.len().saturating_sub(1);
        self.at = if self.chosen.is_none() { 0 } else { found.unwrap_or(self.at).min(last) };
        if self.chosen.is_some() && found.is_none() {
            self.chosen = rows.get(self.at).map(|row| row.task.id);
        }
        rows
    }

    /// The task whose details are shown as it is now, if it is still there.
    pub(super) fn follow(&mut self, tasks: &[Task]) {
        if let Some(details) = &mut self.details
            && let Some(now) = tasks.iter().find(|task| task.id == details.id)
        {
            *details = now.clone();
        }
    }

    /// Scrolls so that the chosen row is among `page`.
    pub(super) fn scroll(&mut self, page: usize, all: usize) {
        self.page = page.max(1);
        self.top = self.top.min(self.at).max((self.at + 1).saturating_sub(self.page));
        self.top = self.top.min(all.saturating_sub(self.page));
    }

    pub(super) fn press(&mut self, key: Key, tasks: &[Task]) -> Option<Wish> {
        match key {
            Key::Ctrl('c') => return Some(Wish::Quit),
            Key::Ctrl('z') => return Some(Wish::Suspend),
            _ if self.typing => return self.type_search(key),
            Key::Char('q') if self.help => self.help = false,
            Key::Char('q') => return Some(Wish::Quit),
            Key::Char('?') => self.help = !self.help,
            Key::Escape => return self.back(),
            _ if self.help => self.help = false,
            Key::Char('d') => return Some(Wish::Dump),
            Key::Char('p') => {
                self.paused = !self.paused;
                return (!self.paused).then_some(Wish::Ask);
            }
            Key::Char('/') => {
                (self.typing, self.details) = (true, None);
            }
            Key::Char('s') => self.order(self.sort.next()),
            Key::Char('S') => self.order(self.sort.last()),
            Key::Char('r') => self.descending = !self.descending,
            Key::Char('t') => self.tree = !self.tree,
            Key::Char('w') => self.all_workers = !self.all_workers,
            Key::Enter => self.open(tasks),
            key => self.go(key, tasks),
        }
        None
    }

    fn order(&mut self, by: Column) {
        (self.sort, self.descending) = (by, by.is_largest_first());
    }

    /// One thing less that is in the way.
    fn back(&mut self) -> Option<Wish> {
        if std::mem::take(&mut self.help) || self.details.take().is_some() || self.search.is_empty() {
            return None;
        }
        self.search.clear();
        Some(Wish::Ask)
    }

    fn type_search(&mut self, key: Key) -> Option<Wish> {
        match key {
            Key::Char(letter) => self.search.push(letter),
            Key::Backspace if self.search.pop().is_none() => self.typing = false,
            Key::Backspace => {}
            Key::Ctrl('u') => self.search.clear(),
            Key::Enter => {
                self.typing = false;
                return None;
            }
            Key::Escape => {
                self.typing = false;
                self.search.clear();
            }
            _ => return None,
        }
        Some(Wish::Ask)
    }

    fn open(&mut self, tasks: &[Task]) {
        if self.details.take().is_none() {
            let rows = self.rows(tasks);
            self.details = rows.get(self.at).map(|row| row.task.clone());
            self.chosen = self.details.as_ref().map(|task| task.id);
        }
    }

    fn go(&mut self, key: Key, tasks: &[Task]) {
        let rows = self.rows(tasks);
        let last = rows.len().saturating_sub(1);
        self.at = match key {
            Key::Up | Key::Char('k') => self.at.saturating_sub(1),
            Key::Down | Key::Char('j') => (self.at + 1).min(last),
            Key::PageUp => self.at.saturating_sub(self.page),
            Key::PageDown => (self.at + self.page).min(last),
            Key::Home | Key::Char('g') => 0,
            Key::End | Key::Char('G') => last,
            _ => return,
        };
        // Who is at the top stays there, whoever that is.
        self.chosen = rows.get(self.at).filter(|_| self.at > 0).map(|row| row.task.id);
        if self.details.is_some() {
            self.details = rows.get(self.at).map(|row| row.task.clone());
            self.chosen = self.details.as_ref().map(|task| task.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: u64, share: f64) -> Task {
        Task { id, share: Some(share), name: Some(format!("n{id}")), ..Task::default() }
    }

    fn ids(view: &mut View, tasks: &[Task]) -> Vec<u64> {
        view.rows(tasks).iter().map(|row| row.task.id).collect()
    }

    #[test]
    fn the_choice_stays_with_its_task_but_the_top_is_the_top() {
        let (mut view, mut tasks) = (View::new(), vec![task(1, 0.3), task(2, 0.2), task(3, 0.1)]);
        assert_eq!(ids(&mut view, &tasks), [1, 2, 3]);
        tasks[2].share = Some(0.9);
        assert_eq!((ids(&mut view, &tasks), view.at), (vec![3, 1, 2], 0), "the top");
        view.press(Key::Down, &tasks);
        assert_eq!((view.at, view.chosen), (1, Some(1)));
        tasks[0].share = Some(0.0);
        assert_eq!((ids(&mut view, &tasks), view.at), (vec![3, 2, 1], 2), "it went with it");
        tasks.remove(0);
        assert_eq!((ids(&mut view, &tasks), view.at, view.chosen), (vec![3, 2], 1, Some(2)), "it has ended");
        view.press(Key::Home, &tasks);
        assert_eq!((view.at, view.chosen), (0, None));
    }

    #[test]
    fn a_search_is_typed_and_left() {
        let (mut view, tasks) = (View::new(), vec![task(1, 0.3), task(2, 0.2)]);
        view.press(Key::Char('/'), &tasks);
        assert_eq!(view.press(Key::Char('q'), &tasks), Some(Wish::Ask), "it is a letter now");
        view.press(Key::Ctrl('u'), &tasks);
        view.press(Key::Char('2'), &tasks);
        assert_eq!(ids(&mut view, &tasks), [2]);
        assert_eq!(view.press(Key::Enter, &tasks), None);
        assert_eq!((view.typing, view.search.as_str()), (false, "2"));
        assert_eq!(view.press(Key::Escape, &tasks), Some(Wish::Ask));
        assert!(view.search.is_empty());
        assert_eq!(view.press(Key::Char('q'), &tasks), Some(Wish::Quit));
    }

    #[test]
    fn details_follow_and_outlive_their_task() {
        let (mut view, mut tasks) = (View::new(), vec![task(1, 0.3), task(2, 0.2)]);
        view.press(Key::Enter, &tasks);
        tasks[0].share = Some(0.1);
        view.follow(&tasks);
        assert_eq!(view.details.as_ref().map(|task| (task.id, task.share)), Some((1, Some(0.1))));
        tasks.remove(0);
        view.follow(&tasks);
        assert_eq!(view.details.as_ref().map(|task| task.id), Some(1));
        view.press(Key::Escape, &tasks);
        assert!(view.details.is_none());
    }

    #[test]
    fn the_choice_is_always_on_the_page() {
        let (mut view, tasks) = (View::new(), (0..100).map(|id| task(id, 0.0)).collect::<Vec<_>>());
        for (key, at, top) in [
            (Key::End, 99, 90),
            (Key::Up, 98, 90),
            (Key::PageUp, 88, 88),
            (Key::PageDown, 98, 89),
            (Key::Home, 0, 0),
            (Key::Down, 1, 0),
        ] {
            view.press(key, &tasks);
            let all = view.rows(&tasks).len();
            view.scroll(10, all);
            assert_eq!((view.at, view.top), (at, top), "{key:?}");
        }
    }
}
