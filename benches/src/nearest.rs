//! Names that somebody may have meant.

/// Says that there is no `what` of this name, and which there are: the nearest first.
pub fn unknown<'a>(what: &str, name: &str, accepted: impl IntoIterator<Item = &'a str>) -> String {
    if name.is_empty() {
        let accepted: Vec<&str> = accepted.into_iter().collect();
        return format!("the name of a {what} is missing; accepted: {}", accepted.join(", "));
    }
    format!("there is no {what} {name:?}; accepted, nearest first: {}", nearest(name, accepted).join(", "))
}

/// All of them, the nearest first; equally near ones in the order given.
pub fn nearest<'a>(name: &str, accepted: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut accepted: Vec<&str> = accepted.into_iter().collect();
    // Who gives a part of a name means it more likely than a name that is a few letters away.
    accepted.sort_by_key(|other| (!other.contains(name), distance(name, other)));
    accepted
}

/// How many letters must be put in, taken out, changed or swapped with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![(0..=to.len()).collect::<Vec<usize>>()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let changed = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut best = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_letters() {
        let pairs = [("", ""), ("go", "go"), ("og", "go"), ("toko", "tokio"), ("smoll", "smol"), ("", "may")];
        assert_eq!(pairs.map(|(from, to)| distance(from, to)), [0, 0, 1, 1, 1, 3]);
    }

    #[test]
    fn what_was_meant_comes_first() {
        let names = ["tokio-mt", "smol", "may", "go", "tokio-ct"];
        assert_eq!(nearest("mya", names)[0], "may");
        assert_eq!(nearest("ct", names)[0], "tokio-ct");
        assert_eq!(
            unknown("peer", "tokyo-ct", names),
            "there is no peer \"tokyo-ct\"; accepted, nearest first: tokio-ct, tokio-mt, smol, may, go"
        );
        assert_eq!(unknown("peer", "", ["a", "b"]), "the name of a peer is missing; accepted: a, b");
    }
}
