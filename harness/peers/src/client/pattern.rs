//! Examples of simple regular expressions, for forms that want a text of some pattern.
//!
//! It knows literals, escapes, classes, groups, alternatives and counts; whatever else is in a pattern gives no example.

use std::{iter::Peekable, str::Chars};

/// More than any sensible field holds.
const MAX_LENGTH: usize = 4096;

/// Deeper than any sensible pattern nests.
const MAX_DEPTH: usize = 50;

/// Returns a text that matches the pattern, if the pattern is simple enough.
pub(super) fn example(pattern: &str) -> Option<String> {
    let mut rest = pattern.chars().peekable();
    let text = alternatives(&mut rest, 0)?;
    rest.next().is_none().then_some(text)
}

/// Reads alternatives up to the end or a closing parenthesis, and takes the first.
fn alternatives(rest: &mut Peekable<Chars<'_>>, depth: usize) -> Option<String> {
    let first = sequence(rest, depth)?;
    while rest.next_if_eq(&'|').is_some() {
        sequence(rest, depth)?;
    }
    Some(first)
}

fn sequence(rest: &mut Peekable<Chars<'_>>, depth: usize) -> Option<String> {
    let mut text = String::new();
    while let Some(next) = rest.next_if(|next| !matches!(next, '|' | ')')) {
        if matches!(next, '^' | '$') {
            continue;
        }
        let atom = atom(next, rest, depth)?;
        let n_times = count(rest)?;
        if text.len() + atom.len() * n_times > MAX_LENGTH {
            return None;
        }
        text.push_str(&atom.repeat(n_times));
    }
    Some(text)
}

fn atom(first: char, rest: &mut Peekable<Chars<'_>>, depth: usize) -> Option<String> {
    match first {
        '(' if depth < MAX_DEPTH => group(rest, depth + 1),
        '[' => class(rest).map(String::from),
        '.' => Some("a".to_owned()),
        '\\' => escape(rest.next()?).map(String::from),
        '(' | '*' | '+' | '?' | '{' => None,
        plain => Some(plain.to_string()),
    }
}

fn group(rest: &mut Peekable<Chars<'_>>, depth: usize) -> Option<String> {
    if rest.next_if_eq(&'?').is_some() {
        // Looking around is beyond this reader.
        rest.next_if_eq(&':')?;
    }
    let text = alternatives(rest, depth)?;
    rest.next_if_eq(&')').map(|_| text)
}

/// Reads a class and returns its first character.
fn class(rest: &mut Peekable<Chars<'_>>) -> Option<char> {
    let first = match rest.next()? {
        '^' | ']' => return None,
        '\\' => escape(rest.next()?)?,
        plain => plain,
    };
    loop {
        match rest.next()? {
            ']' => return Some(first),
            '\\' => drop(rest.next()?),
            _ => {}
        }
    }
}

fn escape(letter: char) -> Option<char> {
    match letter {
        'd' => Some('0'),
        'w' => Some('a'),
        's' => Some(' '),
        't' => Some('\t'),
        'n' => Some('\n'),
        letter if letter.is_alphanumeric() => None,
        plain => Some(plain),
    }
}

/// Reads how often something is wanted, and returns the smallest number.
fn count(rest: &mut Peekable<Chars<'_>>) -> Option<usize> {
    let least = match rest.peek() {
        Some('*' | '?') => rest.next().map(|_| 0),
        Some('+') => rest.next().map(|_| 1),
        Some('{') => {
            rest.next();
            let inner: String = std::iter::from_fn(|| rest.next_if(|next| *next != '}')).collect();
            rest.next()?;
            inner.split(',').next()?.parse().ok()
        }
        _ => return Some(1),
    };
    // A lazy or possessive count wants the same.
    rest.next_if(|next| matches!(next, '?' | '+'));
    least
}

#[cfg(test)]
mod tests {
    use super::example;

    #[test]
    fn gives_examples_of_simple_patterns() {
        let table = [
            ("^[A-Z]{3}-[0-9]+$", Some("AAA-0")),
            ("^(?:yes|no)$", Some("yes")),
            (r"^v\d+\.\d{1,2}(-beta)?$", Some("v0.0")),
            ("a.c", Some("aac")),
            ("^(a+)+$", Some("a")),
            ("[^a]", None),
            ("(?=a)b", None),
            (r"\bword", None),
            ("(", None),
        ];
        for (pattern, wanted) in table {
            assert_eq!(example(pattern).as_deref(), wanted, "{pattern}");
        }
    }
}
