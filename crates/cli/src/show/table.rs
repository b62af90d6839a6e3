//! A table of figures: boxed at a terminal, in aligned columns elsewhere.

use super::{Hue, Style};
use crate::figure::{Table, Value};

/// One cell, ready to be aligned.
struct Cell {
    text: String,
    hue: Option<Hue>,
    right: bool,
}

/// The lines that show `table`, without a margin.
pub(crate) fn table(table: &Table, style: Style) -> Vec<String> {
    let cells = if table.turned { turned(table, style) } else { upright(table, style) };
    let widths: Vec<usize> = (0..cells[0].len())
        .map(|column| cells.iter().map(|row| row[column].text.chars().count()).max().unwrap_or(0))
        .collect();
    let mut lines = vec![style.paint(Hue::Bold, table.title)];
    lines.extend(style.drawn.then(|| rule(&widths, ["╭", "┬", "╮"], style)));
    for (at, row) in cells.iter().enumerate() {
        lines.push(line(row, &widths, style));
        if at == 0 {
            lines.push(rule(&widths, ["├", "┼", "┤"], style));
        }
    }
    lines.extend(style.drawn.then(|| rule(&widths, ["╰", "┴", "╯"], style)));
    lines
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

fn line(row: &[Cell], widths: &[usize], style: Style) -> String {
    let cells = row.iter().zip(widths).map(|(cell, &width)| {
        let padded =
            if cell.right { format!("{:>width$}", cell.text) } else { format!("{:<width$}", cell.text) };
        cell.hue.map_or(padded.clone(), |hue| style.paint(hue, &padded))
    });
    let cells: Vec<String> = cells.collect();
    if !style.drawn {
        return cells.join("  ").trim_end().to_owned();
    }
    let bar = style.paint(Hue::Dim, "│");
    format!("{bar} {} {bar}", cells.join(&format!(" {bar} ")))
}

fn rule(widths: &[usize], [left, middle, right]: [&str; 3], style: Style) -> String {
    if !style.drawn {
        return widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("  ");
    }
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
