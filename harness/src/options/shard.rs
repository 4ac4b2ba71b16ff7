//! `--shard K/N`: a part of the selected cases, so that several machines share a run.

use std::str::FromStr;

use crate::case::Case;

/// One of the parts that the cases are split into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1.
    pub number: usize,
    /// The number of parts.
    pub of: usize,
}

impl FromStr for Shard {
    type Err = String;

    /// Reads `2/3`.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            None => Err("write K/N, such as 2/3 for the second of three".to_owned()),
            Some((_, 0)) => Err("the number of shards must be at least 1".to_owned()),
            Some((number, of)) if number == 0 || number > of => Err(format!("the shards are 1/{of} to {of}/{of}")),
            Some((number, of)) => Ok(Self { number, of }),
        }
    }
}

impl Shard {
    /// Keeps the cases of every n-th file, so that similar ones, which take equally long, are distributed. What a case
    /// shows in its first use decides about its other shapes and contexts, so they stay together.
    pub fn keep<T>(self, all: &mut Vec<T>, id: impl Fn(&T) -> &str) {
        let mut files: Vec<String> = Vec::new();
        all.retain(|case| {
            let file = Case::file_of(id(case));
            let place = files.iter().rposition(|known| known == file).unwrap_or_else(|| {
                files.push(file.to_owned());
                files.len() - 1
            });
            place % self.of == self.number - 1
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_those_that_there_are() {
        assert_eq!(Shard::from_str("2/3"), Ok(Shard { number: 2, of: 3 }));
        assert_eq!(Shard::from_str("1/1"), Ok(Shard { number: 1, of: 1 }));
        for (wrong, wanted) in [("4/3", "1/3 to 3/3"), ("0/3", "1/3 to 3/3"), ("0/0", "at least 1"), ("1/-1", "2/3")] {
            assert!(Shard::from_str(wrong).is_err_and(|error| error.contains(wanted)), "{wrong}");
        }
        assert!(
            ["", "2", "/", "2/", "/3", "2/3/4", "a/b", "1.5/2"]
                .into_iter()
                .all(|wrong| Shard::from_str(wrong).is_err())
        );
    }

    #[test]
    fn each_case_is_in_one_shard_with_its_contexts() {
        let kept = |number, of| {
            let mut all = vec!["a@x", "a@y", "b", "c", "c@again", "d"];
            Shard { number, of }.keep(&mut all, |id| id);
            all
        };
        assert_eq!(kept(1, 2), ["a@x", "a@y", "c", "c@again"]);
        assert_eq!(kept(2, 2), ["b", "d"]);
        assert_eq!(kept(1, 1).len(), 6);
        assert!(kept(5, 5).is_empty());
    }
}
