//! Mutates texts by lines and by JSON values, so that most results are still conversations.

use serde_json::{Value, json};

/// Returns a mutated text, or `None` every other time, for a mutation of bytes instead.
pub fn mutated(data: &[u8], most: usize, seed: u32) -> Option<Vec<u8>> {
    let mut dice = Dice(u64::from(seed) << 1 | 1);
    if dice.below(2) == 0 {
        return None;
    }
    let mut lines: Vec<String> = std::str::from_utf8(data).ok()?.split('\n').map(str::to_owned).collect();
    for _ in 0..=dice.below(3) {
        change(&mut lines, &mut dice);
    }
    let new = lines.join("\n").into_bytes();
    (new.len() <= most && new != data).then_some(new)
}

fn change(lines: &mut Vec<String>, dice: &mut Dice) {
    let (at, other) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(8) {
        0 if lines.len() > 1 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at].clone()),
        2 => lines.swap(at, other),
        3 => {
            let (_, json) = split(&lines[at]);
            lines[at] = format!("{}{json}", split(&lines[other]).0);
        }
        _ => change_value(lines, at, other, dice),
    }
}

/// Splits a line into the text before the JSON, and the JSON.
fn split(line: &str) -> (&str, &str) {
    line.split_at(line.find(['{', '[']).unwrap_or(line.len()))
}

fn change_value(lines: &mut [String], at: usize, other: usize, dice: &mut Dice) {
    let donor = serde_json::from_str(split(&lines[other]).1).unwrap_or(Value::Null);
    let (before, json) = split(&lines[at]);
    let Ok(mut value) = serde_json::from_str::<Value>(json) else { return };
    let mut place = dice.below(count(&value));
    let new = if dice.below(2) == 0 { strange(dice) } else { some_part(donor, dice) };
    touch(&mut value, &mut place, &new, dice);
    lines[at] = format!("{before}{value}");
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// Changes the value at this distance after the current one.
fn touch(value: &mut Value, place: &mut usize, new: &Value, dice: &mut Dice) -> bool {
    if *place == 0 {
        match (value, dice.below(4)) {
            (Value::Object(members), 0) if !members.is_empty() => {
                let name = members.keys().nth(dice.below(members.len())).cloned().unwrap_or_default();
                members.shift_remove(&name);
            }
            (Value::Object(members), 1) => {
                let name = if let Value::String(name) = new { name } else { "_meta" };
                members.insert(name.to_owned(), new.clone());
            }
            (Value::Array(items), 0) if !items.is_empty() => drop(items.remove(dice.below(items.len()))),
            (Value::Array(items), 1) => items.push(items.last().unwrap_or(new).clone()),
            (value, _) => *value = new.clone(),
        }
        return true;
    }
    *place -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| touch(item, place, new, dice)),
        Value::Object(members) => members.values_mut().any(|member| touch(member, place, new, dice)),
        _ => false,
    }
}

fn some_part(value: Value, dice: &mut Dice) -> Value {
    let inside: Vec<Value> = match value {
        Value::Array(items) => items,
        Value::Object(members) => members.into_iter().map(|(_, member)| member).collect(),
        leaf => return leaf,
    };
    if inside.is_empty() || dice.below(4) == 0 {
        return inside.into();
    }
    let at = dice.below(inside.len());
    inside.into_iter().nth(at).map_or(Value::Null, |part| some_part(part, dice))
}

/// Returns a value that programs often handle wrongly.
fn strange(dice: &mut Dice) -> Value {
    let all = [
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!("\u{0}\u{1b}[2J\u{202e}"),
        json!("</script><!--<script>"),
        json!("é\u{1f600}".repeat(200)),
        json!("../../etc/passwd"),
        json!([]),
        json!({}),
        json!([[[[[[[[[[[[[[[[{}]]]]]]]]]]]]]]]]),
        json!({ "": { "": { "~/": [{}] } } }),
        json!({ "$ref": "#" }),
    ];
    all[dice.below(all.len())].clone()
}

/// Pseudorandom numbers, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound.max(1)
    }
}
