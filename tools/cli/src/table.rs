//! Columns of text. Never knows what is in them.

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Lines of a table: a heading and rows, two blanks between columns, none at the end of a line.
pub(crate) fn lines(heading: &[(&str, Align)], rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count());
        cells
            .chain([heading[column].0.chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let set = cells
            .zip(heading.iter().zip(&widths))
            .map(|(cell, ((_, align), width))| match align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            });
        set.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let first = line(&mut heading.iter().map(|(name, _)| *name));
    let rest = rows.iter().map(|row| line(&mut row.iter().map(String::as_str)));
    [first].into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            vec!["text".to_owned(), "7".to_owned()],
            vec!["a long name".to_owned(), "1234".to_owned()],
        ];
        let told = lines(&[("sample", Align::Left), ("ms", Align::Right)], &rows);
        assert_eq!(
            told,
            ["sample         ms", "text            7", "a long name  1234"]
        );
    }

    #[test]
    fn a_line_never_ends_in_blanks() {
        let told = lines(
            &[("a", Align::Left), ("note", Align::Left)],
            &[vec!["x".to_owned(), String::new()]],
        );
        assert_eq!(told, ["a  note", "x"]);
    }
}
