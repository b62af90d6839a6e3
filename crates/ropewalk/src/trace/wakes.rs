//! Who woke whom, and how long that one waited for its turn.

use super::data::{Event, Trace, What};
use crate::task::TaskId;
use std::collections::HashMap;
use std::time::Duration;

/// A wake-up, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WakeUp {
    /// Who was woken.
    pub task: TaskId,
    /// It was spawned just then.
    pub new: bool,
    /// When.
    pub at: Duration,
    /// On which track.
    pub track: usize,
    /// By what.
    pub by: WokenBy,
    /// On which track, and when, the poll began that it led to; `None`: that is not there.
    pub ran: Option<(usize, Duration)>,
}

/// What has woken a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WokenBy {
    /// A task, a strand or a job.
    Task(TaskId),
    /// An event of the driver.
    Io,
    /// A timer.
    Timer,
    /// Something else, such as a thread that is no worker.
    Other,
}

impl WakeUp {
    /// How long it took until it ran.
    pub fn waited(&self) -> Option<Duration> {
        self.ran.map(|(_, at)| at.saturating_sub(self.at))
    }
}

impl Trace {
    /// Every wake-up and every spawn, by when it was. What was overwritten is not guessed: those from before
    /// [`complete_since`](Self::complete_since) are left out.
    ///
    /// ```
    /// use ropewalk::trace::WokenBy;
    ///
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).record(1024).build()?;
    /// let parent = runtime.spawn(async { ropewalk::spawn(async {}).await.unwrap() });
    /// let parent_id = parent.id().unwrap();
    /// runtime.block_on(parent).unwrap();
    /// let wakes = runtime.trace().wakes();
    /// let child = wakes.iter().find(|wake| wake.by == WokenBy::Task(parent_id)).unwrap();
    /// assert!(child.new && child.waited().is_some());
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    pub fn wakes(&self) -> Vec<WakeUp> {
        let since = self.complete_since();
        let mut wakes: Vec<WakeUp> = Vec::new();
        for (track, one) in self.tracks.iter().enumerate() {
            let (mut poll, mut batch): (Option<&Event>, Option<&Event>) = (None, None);
            for event in &one.events {
                match event.what {
                    What::Poll(_) => poll = Some(event),
                    What::Io { .. } | What::Timers { .. } => batch = Some(event),
                    What::Wake { task, new, .. } if event.at >= since => {
                        // What wakes in lots may do so in the middle of a poll.
                        let by =
                            [batch, poll].into_iter().flatten().find_map(|slice| within(slice, event.at));
                        let by = by.unwrap_or(WokenBy::Other);
                        wakes.push(WakeUp { task, new, at: event.at, track, by, ran: None });
                    }
                    _ => {}
                }
            }
        }
        wakes.sort_by_key(|wake| wake.at);
        self.lead_to_polls(&mut wakes);
        wakes
    }

    /// Each poll belongs to the last wake-up of its task before it, if none of its polls is in between.
    fn lead_to_polls(&self, wakes: &mut [WakeUp]) {
        let mut of_task: HashMap<TaskId, Vec<(Duration, usize)>> = HashMap::new();
        for (track, at, poll) in self.polls() {
            of_task.entry(poll.task).or_default().push((at, track));
        }
        of_task.values_mut().for_each(|polls| polls.sort_unstable());
        let mut taken: HashMap<(TaskId, Duration), ()> = HashMap::new();
        for wake in wakes.iter_mut().rev() {
            let Some(polls) = of_task.get(&wake.task) else { continue };
            let next = polls.get(polls.partition_point(|(at, _)| *at < wake.at));
            if let Some((at, track)) = next
                && taken.insert((wake.task, *at), ()).is_none()
            {
                wake.ran = Some((*track, *at));
            }
        }
    }
}

/// What goes on in `slice`, if that is not over by then.
fn within(slice: &Event, by: Duration) -> Option<WokenBy> {
    let goes_on = slice.end().is_none_or(|end| end >= by);
    match &slice.what {
        What::Poll(poll) if goes_on => Some(WokenBy::Task(poll.task)),
        What::Io { .. } if goes_on => Some(WokenBy::Io),
        What::Timers { .. } if goes_on => Some(WokenBy::Timer),
        _ => None,
    }
}
