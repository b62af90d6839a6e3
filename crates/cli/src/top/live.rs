//! The screen that lives: one loop, one `select!`.

use super::change::History;
use super::client::{Client, Trouble};
use super::draw::{Link, Picture, draw};
use super::keys::Keys;
use super::options::Options;
use super::screen::Screen;
use super::state::State;
use super::terminal::{Tty, give_back};
use super::view::{View, Wish};
use super::{dump, is_coloured};
use crate::command::{Failure, Verdict};
use ratatui_core::terminal::Terminal;
use ropewalk::signal::unix::{Signal, SignalKind, signal};
use ropewalk::time::{Instant, sleep, sleep_until};
use ropewalk::{TaskHandle, select};
use rustix::process::{Signal as Sent, getpid, kill_process};
use std::io;
use std::time::Duration;

/// The second look comes soon: only then rates are known.
const SOON: Duration = Duration::from_millis(250);
/// After that the escape key was pressed alone.
const ESCAPE: Duration = Duration::from_millis(40);
/// How long a message stays.
const MESSAGE: Duration = Duration::from_secs(8);
const SECOND: Duration = Duration::from_secs(1);

/// Shows what `client` is told, beginning with `first`, until it is left.
pub(super) async fn run(options: &Options, client: Client, first: State) -> Result<Verdict, Failure> {
    let mut signals = Signals::listen()?;
    let tty =
        Tty::take().map_err(|error| Failure::Trouble(format!("the terminal cannot be drawn on: {error}")))?;
    let mut terminal = Terminal::new(Screen::new(tty.file()?, is_coloured()))?;
    terminal.clear()?; // for terminals that have one screen only
    let mut top = Top::new(options, client, first);
    loop {
        terminal.draw(|frame| draw(frame, &mut top.picture()))?;
        let bytes = terminal.backend_mut().take();
        select! {
            biased;
            () = signals.end() => return Ok(Verdict::Held),
            shown = tty.write_all(&bytes) => shown?,
        }
        match top.next(&tty, &mut signals).await? {
            Next::Draw => {}
            Next::Quit => return Ok(Verdict::Held),
            Next::Suspend => {
                give_back();
                // If nobody could make it go on, the system does not stop it.
                let _stopped = kill_process(getpid(), Sent::TSTP);
                sleep(ESCAPE).await;
                tty.enter()?;
                terminal.clear()?;
            }
            Next::Resume => {
                tty.enter()?;
                terminal.clear()?;
            }
        }
    }
}

/// What it is to do after something has happened.
enum Next {
    Draw,
    Quit,
    Suspend,
    /// It was stopped and goes on: the screen may be anybody's.
    Resume,
}

struct Signals {
    ends: [Signal; 4],
    resized: Signal,
    resumed: Signal,
}

impl Signals {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::Trouble(format!("no signals: {error}")));
        let number = |signal: Sent| SignalKind::from_raw(signal.as_raw());
        Ok(Self {
            ends: [
                listen(SignalKind::interrupt())?,
                listen(SignalKind::terminate())?,
                listen(SignalKind::hangup())?,
                listen(SignalKind::quit())?,
            ],
            resized: listen(SignalKind::window_change())?,
            resumed: listen(number(Sent::CONT))?,
        })
    }

    /// Any of those that ask to end.
    async fn end(&mut self) {
        let [interrupt, terminate, hangup, quit] = &mut self.ends;
        select! {
            () = interrupt.recv() => {}
            () = terminate.recv() => {}
            () = hangup.recv() => {}
            () = quit.recv() => {}
        }
    }
}

type Answer = Result<State, Trouble>;

struct Top {
    address: String,
    client: Client,
    interval: Duration,
    state: State,
    history: History,
    view: View,
    keys: Keys,
    lost: Option<(Instant, Trouble)>,
    message: Option<(String, Instant)>,
    /// The question that is under way, and what it searches for.
    asked: Option<(TaskHandle<Answer>, String)>,
    ask_at: Instant,
    dumping: Option<TaskHandle<String>>,
}

impl Top {
    fn new(options: &Options, client: Client, first: State) -> Self {
        let mut history = History::default();
        history.add(&first);
        Self {
            address: options.address.to_string(),
            client,
            interval: options.interval,
            state: first,
            history,
            view: View::new(),
            keys: Keys::default(),
            lost: None,
            message: None,
            asked: None,
            ask_at: Instant::now() + SOON.min(options.interval),
            dumping: None,
        }
    }

    fn picture(&mut self) -> Picture<'_> {
        let lost = |(since, trouble): &(Instant, Trouble)| {
            Link::Lost(trouble.what.clone(), since.elapsed().as_secs())
        };
        Picture {
            address: &self.address,
            state: &self.state,
            history: &self.history,
            view: &mut self.view,
            link: self.lost.as_ref().map_or(Link::Live, lost),
            message: self.message.as_ref().map(|(text, _)| text.as_str()),
        }
    }

    /// Waits until something happens, and takes note of it.
    async fn next(&mut self, tty: &Tty, signals: &mut Signals) -> io::Result<Next> {
        let [interrupt, terminate, hangup, quit] = &mut signals.ends;
        let may_ask = !self.view.paused && self.asked.is_none();
        let message_ends = self.message.as_ref().map(|(_, until)| *until);
        select! {
            () = interrupt.recv() => return Ok(Next::Quit),
            () = terminate.recv() => return Ok(Next::Quit),
            () = hangup.recv() => return Ok(Next::Quit),
            () = quit.recv() => return Ok(Next::Quit),
            () = signals.resized.recv() => {}
            () = signals.resumed.recv() => return Ok(Next::Resume),
            bytes = tty.read() => {
                if bytes.is_empty() {
                    return Ok(Next::Quit); // the terminal is gone
                }
                let keys = self.keys.add(&bytes);
                return Ok(self.press(keys));
            }
            () = sleep(ESCAPE), if self.keys.is_waiting() => {
                let keys = self.keys.give_up();
                return Ok(self.press(keys));
            }
            () = sleep_until(self.ask_at), if may_ask => self.ask(),
            answer = under_way(&mut self.asked), if self.asked.is_some() => self.hear(answer?),
            text = written(&mut self.dumping), if self.dumping.is_some() => {
                self.dumping = None;
                self.say(text?);
            }
            () = sleep_until(message_ends.unwrap_or_else(Instant::now)), if message_ends.is_some() => self.message = None,
            () = sleep(SECOND), if self.lost.is_some() => {} // to say for how long
        }
        Ok(Next::Draw)
    }

    fn ask(&mut self) {
        let (client, search) = (self.client.clone(), self.view.search.clone());
        let wanted = search.clone();
        let question = ropewalk::spawn(async move { client.state(&wanted).await.map(|(state, _)| state) });
        self.asked = Some((question, search));
        self.ask_at = Instant::now() + self.interval;
    }

    fn hear(&mut self, answer: Answer) {
        let searched = self.asked.take().map(|(_, search)| search);
        if searched.is_some_and(|search| search != self.view.search) {
            self.ask_at = Instant::now(); // the search has changed meanwhile
        }
        match answer {
            Err(trouble) => {
                let since = self.lost.as_ref().map_or_else(Instant::now, |(since, _)| *since);
                self.lost = Some((since, trouble));
            }
            // What is paused stays as it is.
            Ok(_) if self.view.paused => self.lost = None,
            Ok(mut state) => {
                self.lost = None;
                if !state.compare(&self.state) {
                    self.history = History::default();
                    self.ask_at = Instant::now() + SOON.min(self.interval);
                }
                self.history.add(&state);
                self.state = state;
            }
        }
    }

    fn press(&mut self, keys: impl IntoIterator<Item = super::keys::Key>) -> Next {
        let mut next = Next::Draw;
        for key in keys {
            self.message = None;
            match self.view.press(key, &self.state.tasks) {
                Some(Wish::Quit) => return Next::Quit,
                Some(Wish::Suspend) => next = Next::Suspend,
                Some(Wish::Ask) => self.ask_at = Instant::now(),
                Some(Wish::Dump) if self.dumping.is_some() => {}
                Some(Wish::Dump) => {
                    self.dumping = Some(ropewalk::spawn(dump::dump(self.client.clone(), self.state.pid)));
                    self.say("dumping".to_owned());
                }
                None => {}
            }
        }
        next
    }

    fn say(&mut self, message: String) {
        self.message = Some((message, Instant::now() + MESSAGE));
    }
}

/// The answer, once there is one.
async fn under_way(asked: &mut Option<(TaskHandle<Answer>, String)>) -> io::Result<Answer> {
    match asked {
        Some((question, _)) => question.await.map_err(io::Error::other),
        None => std::future::pending().await,
    }
}

async fn written(dumping: &mut Option<TaskHandle<String>>) -> io::Result<String> {
    match dumping {
        Some(dump) => dump.await.map_err(io::Error::other),
        None => std::future::pending().await,
    }
}
