//! Area `content`: formats of single members, base64 and URIs.

use serde_json::Value;

use crate::areas::{Check, CheckContext, On, of_both, with};
use crate::conversation::Payload;
use crate::fact;
use crate::finding::Ruling;

pub(in crate::areas) const CHECKS: &[Check] = &[
    Check::agent("content.icon-scheme", On::Payload(icon_scheme)),
    Check::agent("content.icon-sizes", On::Payload(icon_sizes)),
];

pub(in crate::areas) const BOTH: &[[Check; 2]] = &[
    Check::both(of_both!("content.base64"), On::Payload(with!(base64, CONTENT))),
    Check::both(of_both!("content.uri"), On::Payload(uri)),
];

/// The members of content that hold base64.
const CONTENT: &[(&str, &str)] =
    &[("ImageContent", "data"), ("AudioContent", "data"), ("BlobResourceContents", "blob")];

/// The members that hold a URI.
const URIS: &[(&str, &str)] = &[
    ("ImageContent", "uri"),
    ("ResourceLink", "uri"),
    ("TextResourceContents", "uri"),
    ("BlobResourceContents", "uri"),
    ("Icon", "src"),
    ("McpServerHttp", "url"),
];

/// Each value is base64 of RFC 4648 by itself.
///
/// Correct but unusual: an empty text, and data without padding, which many decoders accept; the latter is
/// inconclusive.
pub(in crate::areas) fn base64(
    ctx: &CheckContext<'_>,
    payload: &Payload<'_>,
    sites: &[(&str, &str)],
    ruling: &mut Ruling<'_>,
) {
    for member in payload.members(sites) {
        let Some(text) = member.value.as_str() else { continue };
        let fact = || {
            fact!(
                "invalid-base64",
                "the {party} sent a value at {pointer} of {method} that is not base64 with padding",
                party = ctx.from,
                method = payload.method,
                pointer = payload.pointer(&member.at())
            )
        };
        match is_base64(text) {
            Some(true) => ruling.pass(),
            Some(false) => ruling.inconclusive(fact()),
            None => ruling.fail(fact()),
        }
    }
}

/// A URI has a scheme and no spaces.
///
/// Correct but unusual: schemes of a program's own, `data:` URIs, and characters beyond ASCII, which a strict URI
/// escapes. The latter is inconclusive.
fn uri(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for member in payload.members(URIS) {
        let Some(text) = member.value.as_str() else { continue };
        let fact = || {
            fact!(
                "invalid-uri",
                "the {party} sent `{actual}` at {pointer} of {method}; expected a URI with a scheme",
                party = ctx.from,
                actual = text,
                method = payload.method,
                pointer = payload.pointer(&member.at())
            )
        };
        let (scheme, rest) = text.split_once(':').unwrap_or_default();
        let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        if !named || rest.chars().any(|c| c.is_whitespace() || c.is_control()) {
            ruling.fail(fact());
        } else if !text.is_ascii() {
            ruling.inconclusive(fact());
        } else {
            ruling.pass();
        }
    }
}

/// Icons come from `https:` or `data:` URIs.
///
/// Correct but unusual: an `http:` URI, which later revisions let an agent send; then the client must not load it. It
/// is noted.
fn icon_scheme(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for member in payload.members(&[("Icon", "src")]) {
        let Some((scheme, _)) = member.value.as_str().and_then(|text| text.split_once(':')) else { continue };
        let scheme = scheme.to_ascii_lowercase();
        if scheme == "http" {
            ruling.note(fact!(
                "icon-over-http",
                "the {party} sent an icon with the scheme `http` in {method}, which clients must not load",
                party = ctx.from, method = payload.method; pointer = payload.pointer(&member.at())
            ));
            continue;
        }
        ruling.decide(matches!(scheme.as_str(), "https" | "data"), || {
            fact!(
                "icon-scheme",
                "the {party} sent an icon with the scheme `{actual}` in {method}; expected https or data",
                party = ctx.from, actual = scheme, method = payload.method; pointer = payload.pointer(&member.at())
            )
        });
    }
}

/// "Each string SHOULD be in `WxH` format (e.g., `\"48x48\"`, `\"96x96\"`) or `\"any\"`".
///
/// Correct but unusual: null, and an empty list.
fn icon_sizes(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_size =
        |text: &str| text.split_once('x').is_some_and(|(width, height)| is_number(width) && is_number(height));
    for member in payload.members(&[("Icon", "sizes")]) {
        for size in member.value.as_array().into_iter().flatten().filter_map(Value::as_str) {
            ruling.decide(size == "any" || is_size(size), || {
                fact!(
                    "icon-size",
                    "the {party} sent an icon with the size `{actual}` in {method}; expected a form such as `48x48`, \
                    or `any`",
                    party = ctx.from, actual = size, method = payload.method; pointer = payload.pointer(&member.at())
                )
            });
        }
    }
}

/// Whether the text is base64; false where only the padding is missing, and none where it is not base64 at all.
fn is_base64(text: &str) -> Option<bool> {
    let data = text.trim_end_matches('=');
    let padding = text.len() - data.len();
    let known = data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    let rest = data.len() % 4;
    match (known, rest, padding) {
        (true, 0, 0) | (true, 2, 2) | (true, 3, 1) => Some(true),
        (true, 2 | 3, 0) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_missing_padding_from_other_texts() {
        let texts = ["", "aGk=", "aGkh", "aA==", "aGk", "aA", "a", "aGk==", "a b=", "aGk-", "aG=k"];
        let found = texts.map(is_base64);
        let good = Some(true);
        assert_eq!(found, [good, good, good, good, Some(false), Some(false), None, None, None, None, None]);
    }
}
