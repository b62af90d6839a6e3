//! A table of figures: boxed at a terminal, in aligned columns elsewhere.

use super::{Hue, Style, cut, width};
use crate::figure::{Table, Value};

/// One cell, ready to be aligned.
struct Cell {
    text: String,
    hue: Option<Hue>,
    right: bool,
}

/// Columns of text are not made narrower than this.
const NARROWEST: usize = 8;

/// The lines that show `table`, without a margin.
pub(crate) fn table(table: &Table, style: Style) -> Vec<String> {
    fitted(table, style, None)
}

/// The same, in at most so many columns if that can be had: first the box goes, then long texts are cut; figures are not.
pub(crate) fn fitted(table: &Table, style: Style, room: Option<usize>) -> Vec<String> {
    let mut cells = if table.turned { turned(table, style) } else { upright(table, style) };
    let mut widths: Vec<usize> = (0..cells[0].len())
        .map(|column| cells.iter().map(|row| width(&row[column].text)).max().unwrap_or(0))
        .collect();
    let all = widths.iter().sum::<usize>();
    let boxed = style.drawn && room.is_none_or(|room| all + 3 * widths.len() < room);
    if let Some(room) = room.filter(|_| !boxed) {
        let between = 2 * (widths.len() - 1);
        narrow(&mut widths, &cells, room.saturating_sub(between));
        for row in &mut cells {
            for (cell, &width) in row.iter_mut().zip(&widths) {
                cell.text = cut(&cell.text, width, style.pick("…", ".."));
            }
        }
    }
    let mut lines = vec![style.paint(Hue::Bold, table.title)];
    lines.extend(boxed.then(|| rule(&widths, Some(["╭", "┬", "╮"]), style)));
    for (at, row) in cells.iter().enumerate() {
        lines.push(line(row, &widths, boxed, style));
        if at == 0 {
            lines.push(rule(&widths, boxed.then_some(["├", "┼", "┤"]), style));
        }
    }
    lines.extend(boxed.then(|| rule(&widths, Some(["╰", "┴", "╯"]), style)));
    lines
}

/// Takes from the widest column of text until all fit into `room`, or none has anything to give.
fn narrow(widths: &mut [usize], cells: &[Vec<Cell>], room: usize) {
    let least = |column: usize| width(&cells[0][column].text).max(NARROWEST);
    let texts: Vec<usize> =
        (0..widths.len()).filter(|&column| cells.iter().any(|row| !row[column].right)).collect();
    while widths.iter().sum::<usize>() > room {
        let wide = texts.iter().copied().filter(|&column| widths[column] > least(column));
        let Some(widest) = wide.max_by_key(|&column| widths[column]) else { return };
        widths[widest] -= 1;
    }
}

/// A heading, then a line for each row.
fn upright(table: &Table, style: Style) -> Vec<Vec<Cell>> {
    let right: Vec<bool> = (0..table.columns.len()).map(|at| is_number_column(table, at)).collect();
    let heading = table.columns.iter().zip(&right).map(|(column, right)| label(column.heading, *right));
    let body = table
        .rows
        .iter()
        .map(|row| row.iter().zip(&right).map(|(value, right)| figure(value, *right, style)).collect());
    std::iter::once(heading.collect()).chain(body).collect()
}

/// A line for each column: its heading, the rows' values side by side, and what it means.
fn turned(table: &Table, style: Style) -> Vec<Vec<Cell>> {
    let line = |(at, column): (usize, &crate::figure::Column)| {
        let values = table.rows.iter().map(|row| {
            if at == 0 { label(&style.value(&row[0]), true) } else { figure(&row[at], true, style) }
        });
        let mut cells = vec![label(column.heading, false)];
        cells.extend(values);
        cells.push(Cell { text: column.note.to_owned(), hue: Some(Hue::Dim), right: false });
        cells
    };
    table.columns.iter().enumerate().map(line).collect()
}

fn is_number_column(table: &Table, at: usize) -> bool {
    !table.rows.iter().any(|row| matches!(row[at], Value::Text(_)))
}

fn label(text: &str, right: bool) -> Cell {
    Cell { text: text.to_owned(), hue: Some(Hue::Sky), right }
}

fn figure(value: &Value, right: bool, style: Style) -> Cell {
    Cell { text: style.value(value), hue: None, right }
}

fn line(row: &[Cell], widths: &[usize], boxed: bool, style: Style) -> String {
    let cells = row.iter().zip(widths).map(|(cell, &columns)| {
        let (text, space) = (&cell.text, " ".repeat(columns.saturating_sub(width(&cell.text))));
        let padded = if cell.right { format!("{space}{text}") } else { format!("{text}{space}") };
        cell.hue.map_or(padded.clone(), |hue| style.paint(hue, &padded))
    });
    let cells: Vec<String> = cells.collect();
    if !boxed {
        return cells.join("  ").trim_end().to_owned();
    }
    let bar = style.paint(Hue::Dim, "│");
    format!("{bar} {} {bar}", cells.join(&format!(" {bar} ")))
}

fn rule(widths: &[usize], box_of: Option<[&str; 3]>, style: Style) -> String {
    let Some([left, middle, right]) = box_of else {
        let dashes: Vec<_> = widths.iter().map(|width| style.pick("─", "-").repeat(*width)).collect();
        return style.paint(Hue::Dim, &dashes.join("  "));
    };
    let dashes: Vec<_> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
    style.paint(Hue::Dim, &format!("{left}{}{right}", dashes.join(middle)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Column;

    fn sample() -> Table {
        let mut table =
            Table::new("t", [Column::new("who", "who"), Column::noted("n", "turns", "how often")]);
        table.row([Value::text("clock"), Value::Count(12_345)]);
        table.row([Value::text("a"), Value::Absent]);
        table
    }

    #[test]
    fn plain_columns_are_aligned_and_hold_no_drawing() {
        let lines = table(&sample(), Style::PLAIN);
        assert_eq!(lines, ["t", "who     turns", "-----  ------", "clock  12,345", "a           -"]);
    }

    #[test]
    fn a_turned_table_has_a_line_for_each_column() {
        let lines = table(&sample().turned(), Style::PLAIN);
        assert_eq!(
            lines[1..],
            ["who     clock  a", "-----  ------  -  ---------", "turns  12,345  -  how often"]
        );
    }

    #[test]
    fn long_texts_are_cut_where_there_is_no_room_and_figures_are_not() {
        let mut wide = Table::new("t", [Column::new("at", "spawned at"), Column::new("n", "turns")]);
        wide.row([Value::text("crates/ropewalk/src/sched/worker.rs:123:45"), Value::Count(12_345)]);
        wide.row([Value::text("木木"), Value::Absent]);
        let lines = fitted(&wide, Style::PLAIN, Some(24));
        assert_eq!(
            lines[1..],
            [
                "spawned at         turns",
                "----------------  ------",
                "crat...rs:123:45  12,345",
                "木木                   -"
            ]
        );
        let drawn = fitted(&wide, Style { drawn: true }, Some(40));
        assert_eq!(drawn[3], "crates/rop…ched/worker.rs:123:45  12,345", "without a box");
        assert!(fitted(&wide, Style { drawn: true }, Some(55))[1].contains('╭'), "{drawn:?}");
        assert!(!fitted(&wide, Style { drawn: true }, Some(54))[1].contains('╭'), "{drawn:?}");
        let lines = fitted(&wide, Style::PLAIN, Some(1));
        assert_eq!(lines[3], "cr..123:45  12,345", "not narrower than its heading");
        assert_eq!(fitted(&wide, Style::PLAIN, Some(200)), table(&wide, Style::PLAIN));
    }

    #[test]
    fn all_lines_of_a_box_are_equally_wide() {
        let drawn = table(&sample(), Style { drawn: true });
        let strip = |line: &String| {
            let mut inside = false;
            line.chars()
                .filter(|c| {
                    let was = inside;
                    inside = *c == '\x1b' || inside && *c != 'm';
                    !was && !inside
                })
                .count()
        };
        let widths: Vec<_> = drawn[1..].iter().map(strip).collect();
        assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{widths:?}");
    }
}
