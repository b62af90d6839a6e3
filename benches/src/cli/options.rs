//! What `bench run` is asked for. `ropewalk bench` hands its arguments on to it.

use crate::meter::Speed;
use crate::nearest::{self, nearest};
use crate::peers::Peer;
use crate::problems::{self, Problem};
use crate::targets::rows;
use std::path::PathBuf;

/// The arguments, understood.
#[derive(Debug)]
pub struct Run {
    pub rounds: usize,
    pub speed: Speed,
    pub problems: Vec<&'static Problem>,
    pub peers: Vec<Peer>,
    pub json: Option<PathBuf>,
    pub markdown: Option<PathBuf>,
    pub html: Option<PathBuf>,
    /// Recorded results, to be reported again; nothing is measured then.
    pub from: Option<PathBuf>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            rounds: 5,
            speed: Speed::Full,
            problems: problems::all().collect(),
            peers: Peer::ALL.to_vec(),
            json: None,
            markdown: None,
            html: None,
            from: None,
        }
    }
}

/// What goes with `--from`.
const WITH_FROM: [&str; 4] = ["--from", "--json", "--md", "--html"];

/// Rounds of a quick run: with two there is no middle.
const QUICK_ROUNDS: usize = 3;
/// More would take days.
const MOST_ROUNDS: usize = 1000;

const ACCEPTED: [&str; 10] = [
    "--quick",
    "--only ROW,..",
    "--against PEER,..",
    "--peers PEER,..",
    "--rounds N",
    "--json FILE",
    "--md FILE",
    "--html FILE",
    "--from FILE",
    "--list",
];

impl Run {
    /// Understands the arguments, or says what is wrong with them and what is accepted. Nothing comes back if the list is wanted.
    pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut run = Self::default();
        let (mut rounds, mut only, mut list) = (None, None, false);
        let (mut against, mut exactly, mut measuring) = (None, None, None);
        while let Some(arg) = args.next() {
            let (option, value) = match arg.split_once('=') {
                Some((option, value)) => (option, Some(value.to_string())),
                None => (arg.as_str(), None),
            };
            if !WITH_FROM.contains(&option) {
                measuring = Some(option.to_owned());
            }
            if matches!(option, "--quick" | "--list") {
                if let Some(value) = value {
                    return Err(format!("{option} takes no value, {value:?} was given"));
                }
                (run.speed, list) =
                    if option == "--quick" { (Speed::Quick, list) } else { (run.speed, true) };
                continue;
            }
            let mut value = || {
                let value = value.clone().or_else(|| args.next()).filter(|value| !value.is_empty());
                value.ok_or_else(|| format!("{option} needs a value"))
            };
            match option {
                "--rounds" => rounds = Some(parse_rounds(&value()?)?),
                "--only" => only.get_or_insert_with(Vec::new).extend(parse_only(&value()?)?),
                "--against" => against.get_or_insert_with(Vec::new).extend(parse_against(&value()?)?),
                "--peers" => exactly.get_or_insert_with(Vec::new).extend(parse_peers(&value()?)?),
                "--json" => run.json = Some(value()?.into()),
                "--md" => run.markdown = Some(value()?.into()),
                "--html" => run.html = Some(value()?.into()),
                "--from" => run.from = Some(value()?.into()),
                _ => return Err(nearest::unknown("option", &arg, ACCEPTED)),
            }
        }
        run.refuse_nonsense(measuring.filter(|_| !list))?;
        run.peers = match (against, exactly) {
            (Some(_), Some(_)) => {
                return Err("--against and --peers do not go together: give one of them".into());
            }
            (Some(against), None) => Peer::ALL.into_iter().filter(|peer| against.contains(peer)).collect(),
            (None, exactly) => exactly.unwrap_or(run.peers),
        };
        run.rounds = rounds.unwrap_or_else(|| run.speed.pick(run.rounds, QUICK_ROUNDS));
        let wanted = |problem: &&Problem| match &only {
            Some(only) => only.contains(&problem.name),
            None => run.speed == Speed::Full || problem.is_quick(),
        };
        run.problems.retain(wanted);
        Ok((!list).then_some(run))
    }
}

impl Run {
    /// What would be done, but hardly meant. `measuring` is an option that is about measuring.
    fn refuse_nonsense(&self, measuring: Option<String>) -> Result<(), String> {
        if let (Some(_), Some(option)) = (&self.from, measuring) {
            return Err(format!(
                "{option} does not go with --from, which measures nothing; accepted with it: {}",
                WITH_FROM[1..].join(", ")
            ));
        }
        let files = [("--json", &self.json), ("--md", &self.markdown), ("--html", &self.html)];
        for (at, (option, file)) in files.iter().enumerate() {
            if let Some((other, _)) = files[..at].iter().find(|(_, other)| file.is_some() && other == file) {
                return Err(format!("{other} and {option} name the same file: each needs one of its own"));
            }
        }
        Ok(())
    }
}

fn parse_rounds(text: &str) -> Result<usize, String> {
    let rounds = text.parse().ok().filter(|rounds| (1..=MOST_ROUNDS).contains(rounds));
    rounds.ok_or_else(|| format!("--rounds: {text:?} is not accepted; accepted: 1 to {MOST_ROUNDS}"))
}

/// The problems that are meant by rows, problems and folders. A folder stands for all of its problems.
fn parse_only(list: &str) -> Result<Vec<&'static str>, String> {
    let mut problems = Vec::new();
    for name in list.split(',').map(str::trim) {
        let meant = named(name);
        if meant.is_empty() {
            return Err(unknown_row(name));
        }
        problems.extend(meant);
    }
    Ok(problems)
}

fn named(name: &str) -> Vec<&'static str> {
    let goes_by = |problem: &&Problem| problem.name == name || problem.dir == name || name == "all";
    let of_row = rows().filter(|row| row.name == name).flat_map(|row| row.problems());
    problems::all().filter(goes_by).chain(of_row).map(|problem| problem.name).collect()
}

/// Says that there is no such row, which ones are near, and which problems there are.
pub fn unknown_row(name: &str) -> String {
    let problems = || problems::all().map(|problem| problem.name);
    let mut near = nearest(name, problems().chain(rows().map(|row| row.name)));
    near.dedup();
    near.truncate(5);
    format!(
        "there is no row {name:?}; nearest: {}; accepted: all, the rows of the report, or problems: {}",
        near.join(", "),
        problems().collect::<Vec<_>>().join(", ")
    )
}

/// Exactly these.
pub fn parse_peers(list: &str) -> Result<Vec<Peer>, String> {
    list.split(',').map(|name| name.trim().parse()).collect()
}

/// Ours, and those who go by these names.
fn parse_against(list: &str) -> Result<Vec<Peer>, String> {
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    let goes_by = |name: &str, peer: Peer| !peer.is_ours() && peer.goes_by(name);
    if let Some(name) = names.iter().find(|name| !Peer::ALL.into_iter().any(|peer| goes_by(name, peer))) {
        let peers = Peer::ALL.into_iter().filter(|peer| !peer.is_ours()).map(Peer::name);
        return Err(nearest::unknown("peer", name, peers.chain(["tokio", "threads"])));
    }
    let wanted = |peer: &Peer| peer.is_ours() || names.iter().any(|name| goes_by(name, *peer));
    Ok(Peer::ALL.into_iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Run>, String> {
        Run::parse(line.split_whitespace().map(String::from))
    }

    fn run(line: &str) -> Run {
        parse(line).unwrap().unwrap()
    }

    fn problems_of(line: &str) -> Vec<&'static str> {
        run(line).problems.iter().map(|problem| problem.name).collect()
    }

    #[test]
    fn a_folder_stands_for_its_problems_and_a_row_for_what_it_is_made_of() {
        let run = run("--only spawn_join_one,mem_task --peers smol,go");
        assert_eq!(run.peers, [Peer::Smol, Peer::Go]);
        assert_eq!((run.rounds, run.speed), (5, Speed::Full));
        assert_eq!(
            problems_of("--only mem_task_rss --only=spawn_join_one"),
            ["spawn_join_one", "spawn_join_one_2w", "spawn_poll_one", "mem_task"]
        );
        assert_eq!(problems_of("--only matmul_speed_up"), ["matmul_1t", "matmul_2t"]);
        assert_eq!(problems_of("--only all --quick").len(), problems::all().count());
    }

    #[test]
    fn quick_is_three_rounds_of_some_unless_told() {
        let quick = run("--quick");
        assert_eq!((quick.rounds, quick.speed), (3, Speed::Quick));
        assert!(quick.problems.iter().all(|problem| problem.is_quick()));
        assert!(quick.problems.len() < problems::all().count() / 2);
        assert_eq!(run("--rounds 7 --quick").rounds, 7);
        assert_eq!(problems_of("--quick --only stm_counter"), ["stm_counter"]);
    }

    #[test]
    fn against_means_families_too_and_we_are_always_there() {
        let ours: Vec<_> = Peer::ALL.into_iter().filter(|peer| peer.is_ours()).collect();
        let others = |line: &str| {
            let peers = run(line).peers;
            assert_eq!(peers[..ours.len()], ours, "{line}");
            peers[ours.len()..].to_vec()
        };
        assert_eq!(others("--against tokio,go"), [Peer::TokioMt, Peer::TokioCt, Peer::Go]);
        assert_eq!(others("--against tokio-ct"), [Peer::TokioCt]);
        assert_eq!(others("--against kanal,smol"), [Peer::Smol, Peer::SmolStatic, Peer::Kanal]);
        assert_eq!(others("--against threads").len(), 5);
        assert_eq!(others("--against go --against may"), [Peer::May, Peer::Go], "they add up, as rows do");
    }

    #[test]
    fn lists_may_have_spaces() {
        let args = ["--only", "oneshot, yield_same", "--against", "go, may"].map(String::from);
        let run = Run::parse(args.into_iter()).unwrap().unwrap();
        let ours = Peer::ALL.iter().filter(|peer| peer.is_ours()).count();
        assert_eq!((run.problems.len(), run.peers.len()), (2, ours + 2));
    }

    #[test]
    fn the_list_may_be_asked_for_beside_anything() {
        assert!(parse("--quick --list").unwrap().is_none());
    }

    #[test]
    fn mistakes_are_refused_with_what_is_accepted() {
        for (line, parts) in [
            ("--rounds 0", &["--rounds", "\"0\"", "accepted: 1 to 1000"][..]),
            ("--rounds many", &["\"many\"", "1 to 1000"]),
            ("--only nothing", &["no row \"nothing\"", "nearest: ", "yield_same, yield_many"]),
            ("--only mem_task_rrs", &["nearest: mem_task_rss"]),
            ("--only yield_same,", &["no row \"\""]),
            ("--peers erlang", &["no peer \"erlang\"", "nearest first", "threads+parking_lot"]),
            ("--against tokyo", &["no peer \"tokyo\"; accepted, nearest first: tokio, "]),
            ("--against ropewalk", &["no peer \"ropewalk\"", "tokio-mt"]),
            ("--json", &["--json needs a value"]),
            ("--html=", &["--html needs a value"]),
            ("--quick=yes", &["--quick takes no value, \"yes\""]),
            ("--htm x", &["no option \"--htm\"", "nearest first: --html FILE"]),
            (
                "--from a --only yield_same",
                &["--only does not go with --from", "accepted with it: --json, --md, --html"],
            ),
            ("--quick --from a", &["--quick does not go with --from"]),
            ("--json a --md b --html=a", &["--json and --html name the same file"]),
            ("--against go --peers may", &["--against and --peers do not go together"]),
            ("yield_same", &["no option \"yield_same\"", "--only ROW,.."]),
        ] {
            let refused = parse(line).unwrap_err();
            assert!(parts.iter().all(|part| refused.contains(part)), "{line}: {refused}");
        }
    }
}
